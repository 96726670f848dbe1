"""How true coflash is: drives that were measured beside what is predicted, drive by drive."""

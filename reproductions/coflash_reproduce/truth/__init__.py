"""How accurate coflash is: measured drives beside what is predicted, drive by drive."""

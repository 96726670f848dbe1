"""Calibration: from measurements of a drive to a scenario that behaves like it, with its errors."""

from coflash.calibrate.fit import Fit, Prediction, fit
from coflash.calibrate.measured import Measured, Point, read_csv, read_fio

__all__ = ["Fit", "Measured", "Point", "Prediction", "fit", "read_csv", "read_fio"]

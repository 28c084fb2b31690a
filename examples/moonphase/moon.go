package main

import (
	"math"
	"time"
)

// A moon describes the moon at a time.
type moon struct {
	Age          float64 `json:"age" jsonschema:"days since the last new moon"`
	Illumination int     `json:"illumination" jsonschema:"how much of the disc is lit, in percent, from 0 to 100"`
}

// moonAt computes the moon at t.
//
// Everything follows from the elongation: how far the moon is ahead of the sun
// in the sky. At 0° they are in the same direction, and we see the moon's dark
// side: new moon. At 180° we see its bright side: full moon.
func moonAt(t time.Time) moon {
	day := daysSince2000(t)
	e := elongation(day)
	age := max(0, day-newMoonBefore(day))
	lit := (1 - math.Cos(radians(e))) / 2
	return moon{
		Age:          math.Round(100*age) / 100,
		Illumination: int(math.Round(100 * lit)),
	}
}

// daysSince2000 returns the days since noon of 1 January 2000, the epoch of the
// angles in elongation. (A time.Duration is limited to 292 years.)
func daysSince2000(t time.Time) float64 {
	noon := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	return float64(t.UnixMilli()-noon.UnixMilli()) / (24 * 60 * 60 * 1000)
}

// elongation returns the angle from the sun to the moon, from 0° up to 360°.
//
// If both moved uniformly, it would be d, the mean elongation. But the moon's
// orbit is an ellipse perturbed by the sun, and the earth's orbit is an ellipse
// too. Therefore the larger periodic terms of Meeus, Astronomical Algorithms,
// chapters 25 and 47, are added. The omitted terms, and the difference of
// seconds to minutes between UTC and dynamical time, amount to less than half
// an hour between 1900 and 2100. In other centuries the error grows slowly.
func elongation(day float64) float64 {
	t := day / 36525 // centuries
	d := 297.8501921 + 445267.1114034*t
	sun := radians(357.5291092 + 35999.0502909*t)   // sun's mean anomaly, from perigee
	moon := radians(134.9633964 + 477198.8675055*t) // moon's mean anomaly, from perigee
	node := radians(93.2720950 + 483202.0175233*t)  // moon's argument of latitude, from the ascending node
	d2 := 2 * radians(d)

	e := d
	e += 6.289*math.Sin(moon) + 0.214*math.Sin(2*moon) + 0.010*math.Sin(3*moon) // the moon's elliptical orbit
	e -= 2.100*math.Sin(sun) + 0.020*math.Sin(2*sun)                            // the earth's elliptical orbit
	e += 1.274*math.Sin(d2-moon) + 0.658*math.Sin(d2)                           // perturbation by the sun
	e += 0.059*math.Sin(d2-2*moon) + 0.057*math.Sin(d2-sun-moon) + 0.053*math.Sin(d2+moon) + 0.046*math.Sin(d2-sun)
	e -= 0.041*math.Sin(sun-moon) + 0.035*math.Sin(radians(d)) + 0.030*math.Sin(sun+moon)
	e -= 0.114*math.Sin(2*node) + 0.013*math.Sin(moon+2*node) - 0.011*math.Sin(moon-2*node) - 0.015*math.Sin(d2-2*node) // inclination of the moon's orbit

	if e = math.Mod(e, 360); e < 0 {
		e += 360
	}
	return e
}

// newMoonBefore returns the last new moon, when the elongation was 0°. It
// starts from an estimate with uniform motion, and corrects it by the remaining
// elongation; each step leaves about a seventh of the error.
func newMoonBefore(day float64) float64 {
	const perDegree = 29.530589 / 360 // days per degree of a mean synodic month
	n := day - elongation(day)*perDegree
	for range 6 {
		n -= math.Remainder(elongation(n), 360) * perDegree // from -180° to 180°
	}
	return n
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

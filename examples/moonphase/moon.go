package main

import (
	"math"
	"time"
)

// A moon is how the moon looks at a time.
type moon struct {
	Age          float64 `json:"age" jsonschema:"days since the last new moon"`
	Illumination int     `json:"illumination" jsonschema:"how much of the disc is lit, in percent, from 0 to 100"`
	Phase        string  `json:"phase" jsonschema:"the name of the phase, such as full moon or waning crescent"`
}

// moonAt calculates the moon at t.
//
// All of it follows from the elongation, which is how far the moon has moved ahead
// of the sun in the sky. At 0° they stand together, and we look at the moon's dark
// side: new moon. At 180° we look at its bright side: full moon.
func moonAt(t time.Time) moon {
	day := daysSince2000(t)
	e := elongation(day)
	age := max(0, day-newMoonBefore(day))
	lit := (1 - math.Cos(radians(e))) / 2
	return moon{
		Age:          math.Round(100*age) / 100,
		Illumination: int(math.Round(100 * lit)),
		Phase:        phaseName(e),
	}
}

// daysSince2000 counts the days since noon of 1 January 2000, the moment for which
// the angles in elongation are given. (A time.Duration holds just 292 years.)
func daysSince2000(t time.Time) float64 {
	noon := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	return float64(t.UnixMilli()-noon.UnixMilli()) / (24 * 60 * 60 * 1000)
}

// elongation is the angle from the sun to the moon, from 0° up to 360°.
//
// If both went round evenly, it would be d, the mean elongation. But the moon's way
// is an ellipse that the sun pulls at, and the earth's is an ellipse too; so swings
// are added, the larger ones of Meeus, Astronomical Algorithms, chapters 25 and 47.
// Those left out, and the difference of some seconds to minutes between UTC and the
// astronomers' even time, matter less than half an hour between 1900 and 2100. In
// other centuries the error grows slowly.
func elongation(day float64) float64 {
	t := day / 36525 // centuries
	d := 297.8501921 + 445267.1114034*t
	sun := radians(357.5291092 + 35999.0502909*t)   // from where the sun is nearest to us
	moon := radians(134.9633964 + 477198.8675055*t) // from where the moon is nearest to us
	node := radians(93.2720950 + 483202.0175233*t)  // from where the moon crosses the sun's path
	d2 := 2 * radians(d)

	e := d
	e += 6.289*math.Sin(moon) + 0.214*math.Sin(2*moon) + 0.010*math.Sin(3*moon) // the moon's ellipse
	e -= 2.100*math.Sin(sun) + 0.020*math.Sin(2*sun)                            // the earth's ellipse
	e += 1.274*math.Sin(d2-moon) + 0.658*math.Sin(d2)                           // the sun's pull
	e += 0.059*math.Sin(d2-2*moon) + 0.057*math.Sin(d2-sun-moon) + 0.053*math.Sin(d2+moon) + 0.046*math.Sin(d2-sun)
	e -= 0.041*math.Sin(sun-moon) + 0.035*math.Sin(radians(d)) + 0.030*math.Sin(sun+moon)
	e -= 0.114*math.Sin(2*node) + 0.013*math.Sin(moon+2*node) - 0.011*math.Sin(moon-2*node) - 0.015*math.Sin(d2-2*node) // the tilt of its way

	if e = math.Mod(e, 360); e < 0 {
		e += 360
	}
	return e
}

// newMoonBefore is the last new moon, when the elongation was 0°. It starts where
// that would be if the moon went evenly, looks how far off this is, and goes there;
// each step leaves about a seventh of the error.
func newMoonBefore(day float64) float64 {
	const perDegree = 29.530589 / 360 // days, from one new moon to the next on average
	n := day - elongation(day)*perDegree
	for range 6 {
		n -= math.Remainder(elongation(n), 360) * perDegree // from -180° to 180°
	}
	return n
}

// phaseName says new moon, full moon and so on within about half a day of these
// moments, which is 6°, and names the times between them after the shape.
func phaseName(elongation float64) string {
	quarters := elongation / 90
	nearest := math.Round(quarters)
	if math.Abs(quarters-nearest)*90 < 6 {
		return [...]string{"new moon", "first quarter", "full moon", "last quarter"}[int(nearest)%4]
	}
	return [...]string{"waxing crescent", "waxing gibbous", "waning gibbous", "waning crescent"}[int(quarters)]
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

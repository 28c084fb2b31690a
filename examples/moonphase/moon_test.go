package main

import (
	"math"
	"testing"
	"time"
)

// month is the mean time from one new moon to the next, in days.
const month = 29.530589

// published are times in UTC, most of them those of well-known eclipses.
var published = []struct{ phase, at string }{
	{"new moon", "1977-02-18T03:37:00Z"}, // Meeus, example 49.a
	{"new moon", "1999-08-11T11:08:00Z"},
	{"new moon", "2000-01-06T18:14:00Z"},
	{"full moon", "2000-01-21T04:40:00Z"},
	{"new moon", "2009-07-22T02:35:00Z"},
	{"full moon", "2010-12-21T08:13:00Z"},
	{"full moon", "2015-09-28T02:50:00Z"},
	{"new moon", "2017-08-21T18:30:00Z"},
	{"full moon", "2018-07-27T20:20:00Z"},
	{"full moon", "2019-01-21T05:16:00Z"},
	{"new moon", "2020-06-21T06:41:00Z"},
	{"full moon", "2022-05-16T04:14:00Z"},
	{"new moon", "2024-04-08T18:21:00Z"},
	{"full moon", "2025-03-14T06:55:00Z"},
}

func TestMoonAt_published(t *testing.T) {
	for _, p := range published {
		m := moonAt(parse(t, p.at))
		switch p.phase {
		case "new moon":
			if off := math.Abs(math.Remainder(m.Age, month)); off > 0.3 {
				t.Errorf("new moon at %s: age %v, %.2f days off", p.at, m.Age, off)
			}
			if m.Illumination > 2 {
				t.Errorf("new moon at %s: illumination %d, want 0 to 2", p.at, m.Illumination)
			}
		case "full moon":
			if m.Age < 13.5 || m.Age > 16.1 {
				t.Errorf("full moon at %s: age %v, want 13.5 to 16.1", p.at, m.Age)
			}
			if m.Illumination < 98 {
				t.Errorf("full moon at %s: illumination %d, want 98 to 100", p.at, m.Illumination)
			}
		}
	}
}

// The moments themselves are right within half an hour, as elongation promises:
// the moon gains about half a degree an hour.
func TestElongation_published(t *testing.T) {
	want := map[string]float64{"new moon": 0, "full moon": 180}
	for _, p := range published {
		e := elongation(daysSince2000(parse(t, p.at)))
		if off := math.Remainder(e-want[p.phase], 360); math.Abs(off) > 0.25 {
			t.Errorf("%s at %s: elongation %.3f°, %.3f° off", p.phase, p.at, e, off)
		}
	}
}

func TestMoonAt_betweenTheMoments(t *testing.T) {
	for _, tt := range []struct {
		at  string
		lit int
	}{
		{"1992-04-12T00:00:00Z", 68},     // Meeus, example 48.a
		{"2044-01-21T23:47:00Z", 50},     // Meeus, example 49.b
		{"2024-04-09T02:21:00+08:00", 0}, // elsewhere, at the same time
		{"2000-01-07T18:14:00Z", 1},      // a day after new moon
		{"2000-01-20T04:40:00Z", 99},     // a day before full moon
		{"2000-01-22T04:40:00Z", 99},     // a day after
		{"2024-04-07T18:21:00Z", 1},      // a day before new moon
	} {
		m := moonAt(parse(t, tt.at))
		if abs(m.Illumination-tt.lit) > 1 {
			t.Errorf("moonAt(%s) = %+v, want %d %%", tt.at, m, tt.lit)
		}
	}
}

// From the new moon of 6 January 2000 to the full moon of the 21st.
func TestMoonAt_age(t *testing.T) {
	began, full := parse(t, "2000-01-06T18:14:00Z"), parse(t, "2000-01-21T04:40:00Z")
	for at := began.Add(time.Hour); !at.After(full); at = at.Add(time.Hour) {
		want := at.Sub(began).Hours() / 24
		if got := moonAt(at).Age; math.Abs(got-want) > 0.03 {
			t.Errorf("age at %v = %v, want %.2f", at, got, want)
		}
	}
}

// Age grows day by day and starts again at new moon, in every month of a century,
// and the illumination keeps within its bounds.
func TestMoonAt_goesRound(t *testing.T) {
	at := time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)
	last := moonAt(at)
	months := 0
	for at = at.AddDate(0, 0, 1); at.Before(end); at = at.AddDate(0, 0, 1) {
		m := moonAt(at)
		grown := m.Age - last.Age
		switch {
		case math.Abs(grown-1) < 0.02:
		case last.Age > 28 && last.Age < 30 && m.Age <= 1:
			months++
		default:
			t.Fatalf("at %v: age %v, after %v the day before", at, m.Age, last.Age)
		}
		if m.Illumination < 0 || m.Illumination > 100 {
			t.Fatalf("at %v: illumination %d", at, m.Illumination)
		}
		last = m
	}
	if want := 1237; abs(months-want) > 1 { // 36524 days / 29.530589
		t.Errorf("%d new moons in a century, want %d", months, want)
	}
}

// RFC 3339 has years from 0 to 9999.
func TestMoonAt_farAway(t *testing.T) {
	for _, text := range []string{"0000-01-01T00:00:00Z", "1066-10-14T09:00:00Z", "9999-12-31T23:59:59Z"} {
		at := parse(t, text)
		if m := moonAt(at); !(m.Age >= 0 && m.Age < 30) || m.Illumination < 0 || m.Illumination > 100 {
			t.Errorf("moonAt(%s) = %+v", text, m)
		}
		if d := daysSince2000(at) - daysSince2000(at.AddDate(0, 0, -1)); math.Abs(d-1) > 1e-6 {
			t.Errorf("the day before %s is %v days before", text, d)
		}
	}
}

func parse(t *testing.T, at string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func abs(n int) int { return max(n, -n) }

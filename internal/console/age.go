package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Age is a flag for a long time, such as 180d, 26w or 36h.
type Age time.Duration

// Set parses a number of days or weeks, or a duration in Go's format.
func (a *Age) Set(s string) error {
	const day = 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return fmt.Errorf("want a number of days such as 180d, or of weeks such as 26w")
			}
			*a = Age(time.Duration(n) * d)
			return nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("want a time such as 180d, 26w or 36h")
	}
	*a = Age(d)
	return nil
}

// String returns whole days as such.
func (a Age) String() string {
	const day = 24 * time.Hour
	switch d := time.Duration(a); {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type is the name of the flag's value in help.
func (*Age) Type() string { return "age" }

package agentcli

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A seconds is the value of --wait: a number of seconds, or a duration such as 30s or 1m.
type seconds int

func (s *seconds) Set(text string) error {
	if n, err := strconv.Atoi(text); err == nil {
		*s = seconds(n)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("want a number of seconds, such as 30")
	}
	*s = seconds(math.Ceil(d.Seconds()))
	return nil
}

func (s *seconds) String() string { return strconv.Itoa(int(*s)) }

func (s *seconds) Type() string { return "seconds" }

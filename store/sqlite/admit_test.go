package sqlite

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/bossman-dev/bossman/board/boardtest"
)

const raceProcesses = 4

// races is how many claims the tests of admission let end: few, or BOSSMAN_ADMIT_RACES.
func races(few int) int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_ADMIT_RACES")); err == nil {
		return n
	}
	if testing.Short() || raceEnabled {
		return few / 3
	}
	return few
}

// raceCalls is a process of TestAdmit_races.
func raceCalls(s *Store, name string, start io.Reader) error { return raceIn(s, name, start, false) }

func raceUnlocked(s *Store, name string, start io.Reader) error { return raceIn(s, name, start, true) }

func raceIn(s *Store, name string, start io.Reader, control bool) error {
	text, err := io.ReadAll(start)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	raced, err := boardtest.AdmitRaces(context.Background(), s, name, n, control)
	fmt.Println(raced.Admitted, raced.Refused)
	return err
}

// Claims end in every way while four processes admit calls under them.
func TestAdmit_races(t *testing.T) {
	late, overtaken, errs := race(t, "race", races(120))
	if late != 0 || overtaken != 0 || len(errs) > 0 {
		t.Errorf("%d calls began after the end of their attempt, %d were overtaken by expiry; %v", late, overtaken, errs)
	}
}

// The same check finds calls that were admitted without a lock on the claim.
func TestAdmit_racesWithoutLock(t *testing.T) {
	late, _, errs := race(t, "raceUnlocked", races(120))
	if late == 0 || len(errs) > 0 {
		t.Errorf("no call began after the end of its attempt, want some; %v", errs)
	}
}

// race runs AdmitRaces in several processes.
func race(t *testing.T, what string, n int) (late, overtaken int, errs []error) {
	t.Helper()
	path := path(t)
	s := open(t, path, nil)
	var children []*child
	for i := range raceProcesses {
		children = append(children, startChild(t, what, path, "p"+strconv.Itoa(i)))
	}
	for _, c := range children {
		fmt.Fprint(c.start.(io.Writer), (n+raceProcesses-1)/raceProcesses)
		c.start.Close()
	}
	var admitted, refused int64
	for _, c := range children {
		for c.lines.Scan() {
			var a, r int64
			if _, err := fmt.Sscan(c.lines.Text(), &a, &r); err != nil {
				t.Error(err)
			}
			admitted, refused = admitted+a, refused+r
		}
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	ended, expired, late, overtaken, errs := boardtest.CheckCalls(t.Context(), s)
	t.Logf("%s: %d attempts ended, %d of them by expiry; %d calls admitted, %d refused; %d began too late, %d were overtaken",
		what, ended, expired, admitted, refused, late, overtaken)
	if admitted == 0 || refused == 0 || expired == 0 {
		t.Error("nothing raced")
	}
	return late, overtaken, errs
}

func BenchmarkAdmit(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir()+"/board.db", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	boardtest.BenchmarkAdmit(b, s)
}

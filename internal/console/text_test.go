package console

import (
	"bufio"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	text := "one two three four five six seven eight nine ten\n\nshort\n" + strings.Repeat("x", 50)
	for l := range strings.Lines(wrap("  ", text, 30)) {
		if TextWidth(strings.TrimRight(l, "\n")) > 30 {
			t.Errorf("too wide: %q", l)
		}
	}
	if got := wrap("", text, 0); got != text+"\n" {
		t.Errorf("without a terminal wrap = %q", got)
	}
}

// TestConsole_Quoted: no line of a text of others begins where ours do, however it is broken.
func TestConsole_Quoted(t *testing.T) {
	text := "one\r\n\n\ttwo\vthree " + strings.Repeat("⌚", 30) + "  accepted\u2028four " + strings.Repeat("x", 100)
	for _, width := range []int{0, 40, 80} {
		out := quoted("  ", text, width)
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "  >") || width > 0 && TextWidth(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("width %d: %q in\n%s", width, line, out)
			}
		}
	}
}

// TestConsole_Quoted_within: a quotation within a text of others stays one, however its lines are
// broken.
func TestConsole_Quoted_within(t *testing.T) {
	for _, within := range []string{"  | ", "> "} {
		text := "May it?\n" + within + "make" + strings.Repeat(" ", 300) + "For this task that is: " + strings.Repeat("y", 200) + " " + strings.Repeat("日本", 100)
		for width := 25; width <= 200; width++ {
			out := quoted("  ", text, width)
			for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				if i > 0 && !strings.HasPrefix(line, "  > "+within) || TextWidth(line) > width {
					t.Fatalf("width %d: %q in\n%s", width, line, out)
				}
			}
			if !strings.Contains(out, "make") || strings.Count(out, "y") != 201 || strings.Count(out, "日") != 100 {
				t.Fatalf("width %d: a part is missing in\n%s", width, out)
			}
		}
	}
}

// TestConsole_Quoted_log: what an entry in the log of an agent says does not begin a line like another entry, however it is broken.
func TestConsole_Quoted_log(t *testing.T) {
	const at = "2026-01-02T03:04:05Z "
	for pad := range 120 {
		text := at + "| " + strings.Repeat("x", pad) + " " + at + "may use Bash\n" + at + "calls Bash: " + strings.Repeat("y ", pad) + at + "may use Bash\n  | " + strings.Repeat("z ", pad) + at + "may use Bash"
		for _, width := range []int{0, 40, 80, 120} {
			out, entries := quoted("", text, width), 0
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "> "+at) {
					entries++
				} else if !strings.HasPrefix(line, "> "+entryMargin) {
					t.Fatalf("width %d: %q in\n%s", width, line, out)
				}
			}
			if entries != 2 {
				t.Fatalf("width %d: %d entries in\n%s", width, entries, out)
			}
		}
	}
}

// TestConsole_Facts: facts go on behind a dot where the line ends, and one that is wider than the
// terminal is quoted.
func TestConsole_Facts(t *testing.T) {
	long := strings.Repeat("x ", 15) + "done"
	for _, test := range []struct {
		width int
		label string
		facts []string
		want  string
	}{
		{0, "", []string{"ready", "high", long}, "ready · high · " + long + "\n"},
		{30, "", []string{"ready", "created by ada", "ended"}, "ready · created by ada · ended\n"},
		{29, "", []string{"ready", "created by ada", "ended"}, "ready · created by ada\n· ended\n"},
		{30, "q-1", []string{"from otter", "now"}, "q-1  from otter · now\n"},
		{30, "q-1", nil, "q-1\n"},
		{30, "q-1", []string{long, "now"}, "q-1\n> x x x x x x x x x x x x x x\n> x done\n· now\n"},
		{30, "", []string{long, "now\nhigh"}, "> x x x x x x x x x x x x x x\n> x done\n· now high\n"},
		{30, "", []string{"ready", strings.Repeat("x", 28), "now"}, "ready\n· " + strings.Repeat("x", 28) + "\n· now\n"},
	} {
		var out strings.Builder
		c := &Console{Out: bufio.NewWriter(&out), width: test.width}
		var facts []Cell
		for _, f := range test.facts {
			facts = append(facts, Text(f))
		}
		c.Facts(Text(test.label), facts...)
		_ = c.Out.Flush()
		if out.String() != test.want {
			t.Errorf("Facts(%q, %q) at %d columns:\n%swant\n%s", test.label, test.facts, test.width, out.String(), test.want)
		}
	}
}

package visible_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/visible"
)

func ExampleText() {
	fmt.Println(visible.Text("AN\u200bSWERS \x1b[2J"))
	// Output: AN<U+200B>SWERS <U+001B>[2J
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":         "plain\n\ttext",
		"größer, 日本語, עברית":    "größer, 日本語, עברית",
		"a\rb\x00":              "a<U+000D>b<U+0000>",
		"\u009b31m":             "<U+009B>31m",
		"\u202eabc\u202c":       "<U+202E>abc<U+202C>",
		"\u2066a\u2069":         "<U+2066>a<U+2069>",
		"A\u200dB\u200cC":       "A<U+200D>B<U+200C>C",
		"A\ufe0f\ufe00":         "A<U+FE0F><U+FE00>",
		"\ufeffA\u00adB\u2060C": "<U+FEFF>A<U+00AD>B<U+2060>C",
		"\U000e0041\U000e0100":  "<U+E0041><U+E0100>",
		"\u3164\u115f\u034f":    "<U+3164><U+115F><U+034F>",
		"a\u2800b\U0001d159":    "a<U+2800>b<U+1D159>",
		"\U00013441\U00013442\U00016fe4\U0001107f\u2d7f": "<U+13441><U+13442><U+16FE4><U+1107F><U+2D7F>",
		"a\u2028b\u2029c\u0085":                          "a<U+2028>b<U+2029>c<U+0085>",
		"❤\ufe0f\u200d🔥 👩\u200d👧 می\u200cخواهم":          "❤\ufe0f\u200d🔥 👩\u200d👧 می\u200cخواهم", // joiners in their place
		"😀\ufe0f\ufe0f":                                  "😀\ufe0f<U+FE0F>",
		"a\xffb":                                         "a\ufffdb",
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := visible.Line("a\r\n b\u2028c\u0085 \u200b"), "a b c <U+200B>"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	if got, want := strings.Join(visible.Lines("a\r\nb\rc\vd\u2028e\n"), "|"), "a|b|c|d|e|"; got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
}

// FuzzText holds that nothing hidden is left, that shown text is shown the same way again,
// and that JSON keeps its meaning.
func FuzzText(f *testing.F) {
	f.Add("A\u200dB")
	f.Add("❤\ufe0f\u200d🔥\u202e\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := visible.Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (visible.Hidden(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}) {
			t.Errorf("Text(%q) = %q", s, got)
		}
		if again := visible.Text(got); again != got {
			t.Errorf("Text(%q) = %q", got, again)
		}
		for _, l := range append(visible.Lines(s), visible.Line(s)) {
			if strings.ContainsAny(l, "\n\r\v\f\u0085\u2028\u2029") {
				t.Errorf("a line of %q is %q", s, l)
			}
		}
		text, err := jsonv2.Marshal(s)
		if err != nil {
			return // not UTF-8
		}
		var back string
		if err := jsonv2.Unmarshal(visible.JSON(text), &back); err != nil || back != s {
			t.Errorf("JSON(%s) = %s: %q, %v", text, visible.JSON(text), back, err)
		}
	})
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"door", 4, "door"}, {"doors", 4, "d…"}, {"dööör", 5, "d…"}, {"dööör", 6, "dö…"}, {"doors", 2, "…"}, {"", 0, ""},
	} {
		if got := visible.Cut(c.text, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	if got := visible.Paths([]string{"a b", "c\n"}); got != `"a b", "c\n"` {
		t.Errorf("Paths = %s", got)
	}
	if got := visible.Paths(slices.Repeat([]string{"a"}, 12)); !strings.HasSuffix(got, `"a", 2 more`) {
		t.Errorf("Paths of twelve = %s", got)
	}
}

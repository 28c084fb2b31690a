package screen

import (
	"encoding/xml"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		row  string
		want []run
	}{
		{"", nil},
		{"   ", nil},
		{"plain text  ", []run{{0, "plain text", ""}}},
		{"  a  b", []run{{2, "a  b", ""}}},
		{"\x1b[32mgreen\x1b[39m plain", []run{{0, "green", "c2"}, {6, "plain", ""}}},
		{"\x1b[1;91mx\x1b[0my", []run{{0, "x", "c9 b"}, {1, "y", ""}}},
		{"\x1b[2mdim\x1b[22m\x1b[1m bold\x1b[m.", []run{{0, "dim", "d"}, {4, "bold", "b"}, {8, ".", ""}}},
		{"\x1b[38;5;1;1mx", []run{{0, "x", "b"}}},
		{"\x1b[38;2;1;2;31;48;5;2;2mx", []run{{0, "x", "d"}}},
		{"── é", []run{{0, "── é", ""}}},
		{"a\tb\x00c\x07\x1b[Kd", []run{{0, "abcd", ""}}},
		{"ends \x1b[3", []run{{0, "ends", ""}}},
		{"\xffx", []run{{0, "x", ""}}},
	} {
		if got := new(look).parse(c.row); !reflect.DeepEqual(got, c.want) {
			t.Errorf("parse(%q) = %+v, want %+v", c.row, got, c.want)
		}
	}
}

func TestParse_carriesOver(t *testing.T) {
	var l look
	l.parse("plain \x1b[2mdim")
	if got, want := l.parse("still"), []run{{0, "still", "d"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the next row is %+v, want %+v", got, want)
	}
}

func TestFilm(t *testing.T) {
	f := Film{Columns: 20, Rows: 3, Title: `a <b> & "c"`, Pause: 2 * time.Second}
	f.Show(0, "$ \n\n\n")
	f.Show(time.Second, "$ \n\n\n")
	f.Show(2*time.Second, "$ echo '<&>'\x01\n\n")
	f.Show(5*time.Second, "$ echo '<&>'\n<&>\n$\nbeyond")
	f.Show(8*time.Second, "$ \n\n")
	if got, want := f.Length(), 10*time.Second; got != want {
		t.Errorf("Length() = %v, want %v", got, want)
	}
	if d, at := f.Longest(); d != 3*time.Second || at != 2*time.Second {
		t.Errorf("Longest() = %v, %v, want 3s, 2s", d, at)
	}
	svg := string(f.SVG())
	for _, want := range []string{
		"<title>a &lt;b&gt; &amp; &#34;c&#34;</title>",
		".s{animation:10s step-end infinite}",
		// The first row goes back to what it showed first, which is there once. Its character that
		// XML cannot have makes no difference.
		"@keyframes k0{0%{transform:translateY(0px)}20%{transform:translateY(-19px)}80%{transform:translateY(0px)}}",
		"@keyframes k1{0%{transform:translateY(0px)}50%{transform:translateY(-19px)}80%{transform:translateY(0px)}}",
		`>&lt;&amp;&gt;</text>`,
		`textLength="25.2"`,
		"prefers-reduced-motion",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the image has no %q:\n%s", want, svg)
		}
	}
	for _, bad := range []string{"beyond", "<script", "http://", "url("} {
		if strings.Contains(strings.ReplaceAll(svg, `xmlns="http://www.w3.org/2000/svg"`, ""), bad) {
			t.Errorf("the image has %q:\n%s", bad, svg)
		}
	}
	// Each row that is not empty is there once, and drawn where it is used.
	var ids, uses []string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the image is not XML: %v\n%s", err, svg)
		}
		e, ok := token.(xml.StartElement)
		for i := 0; ok && i < len(e.Attr); i++ {
			switch e.Attr[i].Name.Local {
			case "id":
				ids = append(ids, e.Attr[i].Value)
			case "href":
				uses = append(uses, strings.TrimPrefix(e.Attr[i].Value, "#"))
			}
		}
	}
	slices.Sort(uses)
	if want := []string{"r0", "r1", "r2"}; !slices.Equal(ids, want) || !slices.Equal(slices.Compact(uses), want) {
		t.Errorf("the rows are %q and those used %q, want %q", ids, uses, want)
	}
}

func TestFilm_empty(t *testing.T) {
	f := Film{Columns: 2, Rows: 1, Pause: time.Second}
	if err := xml.Unmarshal(f.SVG(), new(struct{})); err != nil {
		t.Error(err)
	}
}

// FuzzFilm: whatever a terminal shows, the image is XML.
func FuzzFilm(f *testing.F) {
	f.Add("\x1b[1;31m<&>\x1b[0m\n]]>\x00\uFFFE")
	f.Fuzz(func(t *testing.T, text string) {
		film := Film{Columns: 10, Rows: 2, Title: text, Pause: time.Second}
		film.Show(0, text)
		for d := xml.NewDecoder(strings.NewReader(string(film.SVG()))); ; {
			if _, err := d.Token(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}

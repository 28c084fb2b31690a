package screen

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Film is what a terminal of that size showed. It is played again and again, with a pause after
// the last frame.
type Film struct {
	Columns, Rows int
	// Title stands in the frame of the window, and is read to those who do not see it.
	Title  string
	Pause  time.Duration
	frames []frame
}

type frame struct {
	at   time.Duration
	rows [][]run
}

// Show adds what the terminal shows from a time on: rows with SGR sequences, as tmux capture-pane -e
// prints them. Times count from the beginning and do not decrease. What is shown already is not added.
func (f *Film) Show(at time.Duration, text string) {
	var l look
	rows := make([][]run, f.Rows)
	for i, row := range strings.Split(text, "\n") {
		if i < f.Rows {
			rows[i] = l.parse(row)
		}
	}
	if n := len(f.frames); n > 0 && slices.EqualFunc(f.frames[n-1].rows, rows, slices.Equal) {
		return
	}
	f.frames = append(f.frames, frame{at, rows})
}

// Length is how long the film is, with the pause.
func (f *Film) Length() time.Duration {
	if len(f.frames) == 0 {
		return f.Pause
	}
	return f.frames[len(f.frames)-1].at + f.Pause
}

// Longest is the longest time for which nothing changes before the last frame, and when that begins.
func (f *Film) Longest() (d, at time.Duration) {
	for i := range max(0, len(f.frames)-1) {
		if next := f.frames[i+1].at - f.frames[i].at; next > d {
			d, at = next, f.frames[i].at
		}
	}
	return d, at
}

// What is drawn: the size of a cell, the frame of the window around it, and its colours.
const (
	cellWidth  = 8.4
	cellHeight = 19
	baseline   = 14
	margin     = 16
	titleBar   = 36

	style = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#e6edf3;white-space:pre}` +
		`.b{font-weight:700}.d{fill:#8b949e}` +
		`.c0{fill:#6e7681}.c1,.c9{fill:#ff7b72}.c2,.c10{fill:#7ee787}.c3,.c11{fill:#e3b341}.c4,.c12{fill:#79c0ff}.c5,.c13{fill:#d2a8ff}.c6,.c14{fill:#76e3ea}.c7,.c15{fill:#e6edf3}.c8{fill:#8b949e}`
)

// SVG returns the film as an image.
func (f *Film) SVG() []byte {
	width, height := float64(f.Columns)*cellWidth+2*margin, f.Rows*cellHeight+titleBar+margin
	p := &printer{ids: map[string]int{}}
	var strips, moves bytes.Buffer
	for y := range f.Rows {
		p.strip(&strips, &moves, f, y)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %d" role="img" xml:space="preserve">`+"\n<title>%s</title>\n", number(width), height, escape(f.Title))
	fmt.Fprintf(&out, "<style>%s\n.s{animation:%s step-end infinite}\n%s@media (prefers-reduced-motion:reduce){.s{animation:none!important}}</style>\n", style, seconds(f.Length()), &moves)
	fmt.Fprintf(&out, "<defs>\n%s</defs>\n", &p.defs)
	fmt.Fprintf(&out, `<rect width="%s" height="%d" rx="8" fill="#0d1117"/><path d="M0 %d V8 a8 8 0 0 1 8 -8 H%s a8 8 0 0 1 8 8 V%d z" fill="#21262d"/>`, number(width), height, titleBar-8, number(width-8), titleBar-8)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&out, `<circle cx="%d" cy="14" r="5" fill="%s"/>`, 18+18*i, colour)
	}
	fmt.Fprintf(&out, `<text x="%s" y="19" class="d" text-anchor="middle">%s</text>`+"\n", number(width/2), escape(f.Title))
	fmt.Fprintf(&out, "<svg x=\"%d\" y=\"%d\">\n%s</svg>\n</svg>\n", margin, titleBar, &strips)
	return out.Bytes()
}

// A printer writes each distinct row once.
type printer struct {
	ids  map[string]int
	defs bytes.Buffer
}

// strip writes the strip of row y, and the animation that moves it.
func (p *printer) strip(strips, moves *bytes.Buffer, f *Film, y int) {
	var shown []int // the rows of the strip
	var steps []string
	last := -1
	for _, frame := range f.frames {
		id := p.row(frame.rows[y])
		n := slices.Index(shown, id)
		if n < 0 {
			n = len(shown)
			shown = append(shown, id)
		}
		if n != last {
			last = n
			at := 100 * frame.at.Seconds() / f.Length().Seconds()
			if len(steps) == 0 {
				at = 0
			}
			steps = append(steps, fmt.Sprintf("%s%%{transform:translateY(%dpx)}", number(at), -n*cellHeight))
		}
	}
	var body strings.Builder
	for n, id := range shown {
		if id != empty {
			fmt.Fprintf(&body, `<use href="#r%d" y="%d"/>`, id, n*cellHeight)
		}
	}
	if body.Len() == 0 {
		return
	}
	fmt.Fprintf(strips, `<svg y="%d" width="%s" height="%d">`, y*cellHeight, number(float64(f.Columns)*cellWidth), cellHeight)
	if len(steps) > 1 {
		fmt.Fprintf(moves, "@keyframes k%d{%s}\n", y, strings.Join(steps, ""))
		fmt.Fprintf(strips, `<g class="s" style="animation-name:k%d;transform:translateY(%dpx)">%s</g></svg>`+"\n", y, -last*cellHeight, &body)
		return
	}
	fmt.Fprintf(strips, "%s</svg>\n", &body)
}

// empty is the number of a row that shows nothing.
const empty = -1

// row defines a row if it is new, and returns its number.
func (p *printer) row(runs []run) int {
	if len(runs) == 0 {
		return empty
	}
	var b strings.Builder
	for _, r := range runs {
		class := ""
		if r.class != "" {
			class = ` class="` + r.class + `"`
		}
		fmt.Fprintf(&b, `<text x="%s" y="%d"%s textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`,
			number(float64(r.column)*cellWidth), baseline, class, number(float64(utf8.RuneCountInString(r.text))*cellWidth), escape(r.text))
	}
	text := b.String()
	id, ok := p.ids[text]
	if !ok {
		id = len(p.ids)
		p.ids[text] = id
		fmt.Fprintf(&p.defs, "<g id=\"r%d\">%s</g>\n", id, text)
	}
	return id
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// number is x with at most three digits after the point.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

func seconds(d time.Duration) string { return number(d.Seconds()) + "s" }

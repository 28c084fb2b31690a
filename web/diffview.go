package web

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// Bounds of a page with a diff, whose HTML is to stay below 200 KB.
const (
	// filesPage is how many files a page names.
	filesPage = 60
	// maxRows is how many lines of a file the page of all files shows, and filePageRows how
	// many its own page does.
	maxRows, filePageRows = 300, 700
	// diffBudget is how many bytes of HTML the lines of a page may take, about.
	diffBudget = 120 << 10
	// rowCost is what a line takes besides its text.
	rowCost = 120
	// maxTalk is how many characters of a comment are shown where comments are many: where
	// they have more than manyTalk bytes together.
	maxTalk, manyTalk = 400, 40 << 10
	// maxLineText is how much of a line a row shows, in bytes; the rows below have the rest.
	maxLineText = 2000
)

// A diffView is the diff of an attempt as the review shows it.
type diffView struct {
	Count          int // of files
	Added, Removed string
	Base, Tip      string
	Files          []fileView
	// Only is set if the page is about one file. Back leads to all of them.
	Only bool
	Back string
	// Earlier and Later lead to other files, or to other lines of the only one.
	Earlier, Later string
	// Unnamed is how many files the report did not name, and Unseen of how many the page shows no line or not all.
	Unnamed, Unseen int
	// Elsewhere are comments on files that the page does not show.
	Elsewhere []talk

	budget, pairs int
}

// A fileView is a file of a diff.
type fileView struct {
	No        int
	Dir, Name string
	Fact      string
	Lines     string // +11 −2
	Rows      []diffRow
	// Folded says why its lines are not shown. Link leads to them, if they are known.
	Folded, Link string
	Comments     int
	// Say leads to the form for a comment on the file as a whole, and Form is that form.
	Say   string
	Talks []talk // on the file as a whole, and on lines that are not shown
	Form  *talkForm
}

// A diffRow is a line of a diff: a for added, d for deleted, h for the head of a hunk.
type diffRow struct {
	Class    string
	Old, New string
	Say      string // leads to the form for a comment
	Parts    []part
	Talks    []talk
	Form     *talkForm
}

// A talk is a comment.
type talk struct {
	ID    string
	By    string
	Place string
	Text  string
	Agent bool
	You   bool // it waits for the next attempt
}

// A talkForm asks for a comment.
type talkForm struct {
	Action, Place string
	File          string
	Line          int
	Attempt       int
	Typed, Error  string
	Cancel        string
	Keep          []field // where the page is
}

// A field is a hidden field of a form.
type field struct{ Name, Value string }

// keepPlace makes a form lead back to where the page is.
func (f *talkForm) keepPlace(keep []string, cancel string) {
	f.Cancel = cancel
	for i := 0; i+1 < len(keep); i += 2 {
		if keep[i+1] != "" {
			f.Keep = append(f.Keep, field{keep[i], keep[i+1]})
		}
	}
}

// A diffPlace is what a page shows of a diff, from its address.
type diffPlace struct {
	first int // the first file, from 0
	only  int // the only file, from 1; 0: all
	from  int // the first line of the only file
	on    int // the file that is commented on, from 1; 0: none
	line  int // its line; 0: the file as a whole
}

// parseDiffPlace reads the address. What makes no sense is as good as nothing.
func parseDiffPlace(get func(string) string) (p diffPlace) {
	p.first, p.only, p.from = count(get("first")), count(get("file")), count(get("from"))
	file, line, _ := strings.Cut(get("on"), ".")
	p.on, p.line = count(file), count(line)
	return p
}

// count reads a number that is not negative.
func count(s string) int {
	n, err := strconv.ParseUint(s, 10, 24)
	if err != nil {
		return 0
	}
	return int(n)
}

// A diffSource is what a diffView is made from.
type diffSource struct {
	diff     board.Diff
	comments []board.Comment
	place    diffPlace
	// link returns the address of the page with other keys and values.
	link func(query ...string) string
	// form returns the form for a comment; nil if none can be made.
	form func(file string, line int) *talkForm
	// since is the attempt with which the diff is compared, 0 if with none, and before the
	// patches of that by path.
	since  int
	before map[string]string
	// next is set if the comments wait for the next attempt.
	next bool
}

// view builds the page of a diff.
func (s *diffSource) view() *diffView {
	added, removed := s.diff.Lines()
	v := &diffView{
		Count: len(s.diff.Files) + s.diff.More, Added: number(added), Removed: number(removed), Unnamed: s.diff.More,
		Base: cut(s.diff.Base, 11), Tip: cut(s.diff.Tip, 11), budget: diffBudget, pairs: maxMarkPairs,
	}
	v.Base, v.Tip = strings.TrimSuffix(v.Base, "…"), strings.TrimSuffix(v.Tip, "…")
	for i, c := range s.comments { // they take some of the room
		v.budget -= patchLine{text: s.talk(i, c).Text}.cost() + rowCost
	}
	shown := map[string]bool{}
	if n := s.place.only; n > 0 && n <= len(s.diff.Files) {
		v.Only, v.Back = true, s.link()+"#f"+strconv.Itoa(n)
		f := s.diff.Files[n-1]
		v.Files = []fileView{s.file(v, n, f, filePageRows)}
		shown[f.Path] = true
	} else {
		first := min(s.place.first, max(0, len(s.diff.Files)-1))
		last := min(first+filesPage, len(s.diff.Files))
		for i, f := range s.diff.Files[first:last] {
			v.Files = append(v.Files, s.file(v, first+i+1, f, maxRows))
			shown[f.Path] = true
		}
		if first > 0 {
			v.Earlier = s.link("first", nonZero(max(0, first-filesPage)))
		}
		if last < len(s.diff.Files) {
			v.Later = s.link("first", strconv.Itoa(last))
		}
	}
	v.Unseen = v.Count
	for _, f := range v.Files {
		if f.Folded == unchanged || f.Folded == "" && (!v.Only || v.Earlier == "" && v.Later == "") {
			v.Unseen--
		}
	}
	for i, c := range s.comments {
		if !shown[c.File] {
			v.Elsewhere = append(v.Elsewhere, s.talk(i, c))
		}
	}
	return v
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// talk shows a comment.
func (s *diffSource) talk(i int, c board.Comment) talk {
	all := 0
	for _, x := range s.comments {
		all += len(x.Text)
	}
	if all > manyTalk {
		c.Text = cut(c.Text, maxTalk)
	}
	t := talk{
		ID: "c" + strconv.Itoa(i+1), By: cmp.Or(line(c.By, 60), "somebody"), Text: visible.Text(c.Text), Agent: c.As == board.ByAgent, You: s.next,
		Place: "line " + strconv.Itoa(c.Line),
	}
	if c.Line == 0 {
		t.Place = "the file"
	}
	if !slices.ContainsFunc(s.diff.Files, func(f board.FileDiff) bool { return f.Path == c.File }) {
		t.Place = line(c.Place(), 200)
	}
	return t
}

// unchanged says that a file has the lines that it had.
const unchanged = "No line was changed."

// generated are names of files that a program writes, usually: the name says nothing about what is in them.
var generated = regexp.MustCompile(`(?i)(^|/)(package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|cargo\.lock|composer\.lock|poetry\.lock|uv\.lock|gemfile\.lock)$|\.min\.(js|css)$|\.(snap|map)$|(^|/)(vendor|node_modules)/|\.pb\.go$`)

// file builds the view of a file with at most so many rows, within the page's budget.
func (s *diffSource) file(v *diffView, no int, f board.FileDiff, rows int) (out fileView) {
	dir, name := path.Split(line(f.Path, 300))
	out = fileView{No: no, Dir: dir, Name: name, Fact: fileFact(f), Lines: fmt.Sprintf("+%s −%s", number(f.Added), number(f.Removed))}
	key := strconv.Itoa(no)
	on := map[int][]talk{}
	for i, c := range s.comments {
		if c.File == f.Path {
			t := s.talk(i, c)
			on[c.Line] = append(on[c.Line], t)
			out.Comments++
		}
	}
	var keep []string
	if v.Only {
		keep = []string{"file", key, "from", nonZero(s.place.from)}
	} else {
		keep = []string{"first", nonZero(s.place.first)}
	}
	if s.form != nil {
		out.Say = s.link(append(keep, "on", key)...) + "#say"
		if s.place.on == no && s.place.line == 0 {
			out.Form = s.form(f.Path, 0)
			out.Form.keepPlace(keep, s.link(keep...)+"#f"+key)
		}
	}
	out.Talks = on[0]
	delete(on, 0)
	defer func() { // comments on lines that are not shown
		for _, at := range sortedKeys(on) {
			out.Talks = append(out.Talks, on[at]...)
		}
	}()
	switch {
	case f.Left == "binary":
		out.Folded = "Binary, " + size(f.Size) + "."
	case f.Left != "":
		out.Folded = "Too long to be kept with the report. It is in the commit."
	case f.Patch == "":
		out.Folded = unchanged
	}
	if out.Folded != "" {
		return out
	}
	lines := parsePatch(f.Patch)
	cost := 0
	for _, l := range lines {
		cost += l.cost()
	}
	self := s.link("file", key)
	if !v.Only {
		same, known := s.before[f.Path]
		switch {
		case s.since > 0 && known && same == f.Patch:
			out.Folded, out.Link = fmt.Sprintf("As in attempt %d.", s.since), self
		case generated.MatchString(f.Path):
			out.Folded, out.Link = "Folded by its name alone: files of that name are usually written by programs.", self
		case len(lines) > rows:
			out.Folded, out.Link = "A long change.", self
		case cost > v.budget:
			out.Folded, out.Link = "This page is long enough.", self
		}
		if out.Folded != "" {
			return out
		}
	} else {
		from := min(s.place.from, max(0, len(lines)-1))
		end, used := from, 0
		for end < len(lines) && end < from+rows && (end == from || used+lines[end].cost() <= max(diffBudget/3, v.budget)) {
			used += lines[end].cost()
			end++
		}
		if from > 0 {
			v.Earlier = s.link("file", key, "from", nonZero(max(0, from-rows)))
		}
		if end < len(lines) {
			v.Later = s.link("file", key, "from", strconv.Itoa(end))
		}
		lines = lines[from:end]
	}
	v.budget -= cost
	for _, l := range v.mark(lines) {
		row := l.row()
		if l.now > 0 && s.form != nil && l.class != "d" {
			row.Say = s.link(append(keep, "on", key+"."+strconv.Itoa(l.now))...) + "#say"
			if s.place.on == no && s.place.line == l.now {
				row.Form = s.form(f.Path, l.now)
				row.Form.keepPlace(keep, s.link(keep...)+"#f"+key)
			}
		}
		if l.now > 0 && l.class != "d" {
			row.Talks = on[l.now]
			delete(on, l.now)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func sortedKeys(m map[int][]talk) (keys []int) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fileFact says what happened to a file besides changed lines.
func fileFact(f board.FileDiff) string {
	var facts []string
	switch f.Kind {
	case "A":
		facts = append(facts, "new")
	case "D":
		facts = append(facts, "deleted")
	case "R":
		facts = append(facts, "renamed from "+line(f.From, 200))
	case "T":
		facts = append(facts, "of another type")
	}
	if f.Mode != "" {
		facts = append(facts, "mode "+line(f.Mode, 6))
	}
	return strings.Join(facts, ", ")
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// A patchLine is a line of a patch.
type patchLine struct {
	class    string
	old, now int
	text     string
	goesOn   bool // it is the rest of a long line
	parts    []part
}

// hunkHead is the line before the lines that differ, with the numbers of the first of them.
var hunkHead = regexp.MustCompile(`^@@ -([0-9]{1,9})(?:,[0-9]{1,9})? \+([0-9]{1,9})(?:,[0-9]{1,9})? @@`)

// parsePatch reads a patch, which is any client's word. Lines that belong to none of its
// hunks are shown without a number.
func parsePatch(patch string) (lines []patchLine) {
	old, now := 0, 0
	for text := range strings.Lines(patch) {
		text = strings.TrimSuffix(text, "\n")
		l := patchLine{}
		kind := byte(0)
		if text != "" {
			kind = text[0]
		}
		switch m := hunkHead.FindStringSubmatch(text); {
		case m != nil:
			old, _ = strconv.Atoi(m[1])
			now, _ = strconv.Atoi(m[2])
			l.class, l.text = "h", text
		case kind == '+' && now > 0:
			l.class, l.now, l.text = "a", now, text[1:]
			now++
		case kind == '-' && old > 0:
			l.class, l.old, l.text = "d", old, text[1:]
			old++
		case kind == ' ' && now > 0:
			l.old, l.now, l.text = old, now, text[1:]
			old, now = old+1, now+1
		case kind == '+' || kind == '-': // a new file has nothing before, a deleted one nothing after
			l.class, l.text = map[byte]string{'+': "a", '-': "d"}[kind], text[1:]
		default:
			l.class, l.text = "x", text
		}
		whole := strings.TrimSuffix(l.text, "\r") // the whole file may have such ends
		for l.text, whole = cutLine(whole); ; l.text, whole = cutLine(whole) {
			l.text = visible.Text(l.text)
			lines = append(lines, l)
			if whole == "" {
				break
			}
			l.old, l.now, l.goesOn = 0, 0, true
		}
	}
	return lines
}

// cutLine returns as much of a line as a row shows, and the rest.
func cutLine(s string) (first, rest string) {
	n := len(s)
	if n > maxLineText {
		for n = maxLineText; n > maxLineText-utf8.UTFMax && !utf8.RuneStart(s[n]); {
			n--
		}
	}
	return s[:n], s[n:]
}

// mark highlights the words that differ between a line and its new version.
func (v *diffView) mark(lines []patchLine) []patchLine {
	for i := 0; i < len(lines); {
		if lines[i].class != "d" {
			i++
			continue
		}
		mid := i
		for mid < len(lines) && lines[mid].class == "d" {
			mid++
		}
		end := mid
		for end < len(lines) && lines[end].class == "a" {
			end++
		}
		if mid-i <= maxBlock && end-mid <= maxBlock && end > mid && v.pairs > 0 {
			v.pairs -= mid - i
			var before, after []string
			for _, l := range lines[i:mid] {
				before = append(before, l.text)
			}
			for _, l := range lines[mid:end] {
				after = append(after, l.text)
			}
			for a, b := range pairLines(before, after) {
				if b >= 0 {
					lines[i+a].parts, lines[mid+b].parts = markWords(before[a], after[b])
				}
			}
		}
		i = end
	}
	return lines
}

// cost is how many bytes of HTML a line takes, about.
func (l patchLine) cost() int {
	n := rowCost + len(l.text)
	for _, c := range []byte(l.text) {
		if c == '<' || c == '>' || c == '"' || c == '\'' || c == '&' {
			n += 4
		}
	}
	return n
}

func (l patchLine) row() diffRow {
	r := diffRow{Class: l.class, Old: nonZero(l.old), New: nonZero(l.now), Parts: l.parts}
	if r.Parts == nil {
		r.Parts = []part{{l.text, ""}}
	}
	if l.goesOn {
		r.Old, r.New = "…", "…"
	}
	return r
}

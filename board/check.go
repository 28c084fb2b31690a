package board

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on the size of input, in bytes or items.
const (
	maxTitle = 200
	maxText  = 32 << 10
	maxLong  = 128 << 10
	maxList  = 8
	maxLinks = 100
)

// The largest title and description of a task, in bytes.
const (
	MaxTitle       = maxTitle
	MaxDescription = maxLong
)

// A text is a value to check: its name in errors, and how many bytes it may have.
type text struct {
	name, text string
	limit      int
}

// checkTexts rejects texts that are too long or not valid UTF-8.
func checkTexts(ts ...text) error {
	for _, t := range ts {
		if len(t.text) > t.limit {
			return invalid("%s is too long: %d bytes, want at most %d", t.name, len(t.text), t.limit)
		}
		if !utf8.ValidString(t.text) || strings.ContainsRune(t.text, 0) {
			return invalid("%s is not valid UTF-8 or contains a NUL", t.name)
		}
	}
	return nil
}

// checkWhere validates a place, which is any client's word. A head that is no name of a commit is
// dropped: what is reported is worth more than that.
func checkWhere(w *Where) error {
	for _, branch := range []string{w.Branch, w.Ordered} { // it stands in commands
		if strings.HasPrefix(branch, "-") || strings.ContainsFunc(branch, unicode.IsControl) {
			return invalid("invalid branch %.80q: no branch begins with -, or has line breaks", branch)
		}
	}
	if !ValidCommit(w.Head) { // it stands in what models read
		w.Head = ""
	}
	return checkTexts(text{"host", w.Host, 300}, text{"clone", w.Clone, 100}, text{"directory", w.Dir, 4096}, text{"branch", w.Branch, 400},
		text{"branch", w.Ordered, 400}, text{"client", w.Client, 200})
}

// maxCommit is the length of the longest name of a commit, in SHA-256.
const maxCommit = 64

// ValidCommit reports whether a text can be the name of a commit or its beginning: small hexadecimal
// digits.
func ValidCommit(name string) bool {
	return name != "" && len(name) <= maxCommit && strings.Trim(name, "0123456789abcdef") == ""
}

// checkNew validates and normalizes a new task.
func checkNew(n *NewTask) error {
	n.Title = strings.TrimSpace(n.Title)
	n.Description = strings.TrimSpace(n.Description)
	if n.Title == "" {
		n.Title = firstLine(n.Description)
	}
	if n.Title == "" {
		return invalid("a task needs a title or a description")
	}
	if err := checkTexts(
		text{"title", n.Title, maxTitle}, text{"description", n.Description, maxLong}, text{"acceptance", n.Acceptance, maxText},
	); err != nil {
		return err
	}
	if strings.ContainsAny(n.Title, "\n\r") {
		return invalid("title must be one line")
	}
	if n.Priority < Urgent || n.Priority > Low {
		return invalid("invalid priority %d", n.Priority)
	}
	if n.MaxFailures == 0 {
		n.MaxFailures = 3
	}
	if n.MaxFailures < 1 || n.MaxFailures > 100 {
		return invalid("invalid max_failures %d: want 1 to 100", n.MaxFailures)
	}
	if len(n.DependsOn) > maxLinks {
		return invalid("a task can depend on at most %d others", maxLinks)
	}
	n.DependsOn = slices.Clone(n.DependsOn)
	slices.SortFunc(n.DependsOn, compareIDs)
	n.DependsOn = slices.Compact(n.DependsOn)
	var err error
	if n.Skills, err = checkSkills(n.Skills); err != nil {
		return err
	}
	if n.Areas, err = checkAreas(n.Areas); err != nil {
		return err
	}
	if n.Wants, err = checkWants(n.Wants); err != nil {
		return err
	}
	return checkLease(n.Lease)
}

// checkEdit validates and normalizes an edit.
func checkEdit(e *Edit) error {
	if e.Title != nil {
		title := strings.TrimSpace(*e.Title)
		if title == "" || strings.ContainsAny(title, "\n\r") {
			return invalid("title must be one line, and not empty")
		}
		e.Title = &title
	}
	if err := checkTexts(
		text{"title", value(e.Title), maxTitle}, text{"description", value(e.Description), maxLong},
		text{"acceptance", value(e.Acceptance), maxText},
	); err != nil {
		return err
	}
	if p := value(e.Priority); p < Urgent || p > Low {
		return invalid("invalid priority %d", p)
	}
	if e.MaxFailures != nil && (*e.MaxFailures < 1 || *e.MaxFailures > 100) {
		return invalid("invalid max_failures %d: want 1 to 100", *e.MaxFailures)
	}
	var err error
	if e.Skills, err = checked(e.Skills, checkSkills); err != nil {
		return err
	}
	if e.Areas, err = checked(e.Areas, checkAreas); err != nil {
		return err
	}
	if e.Wants, err = checked(e.Wants, checkWants); err != nil {
		return err
	}
	if e.DependsOn != nil {
		if len(*e.DependsOn) > maxLinks {
			return invalid("a task can depend on at most %d others", maxLinks)
		}
		deps := slices.Clone(*e.DependsOn)
		slices.SortFunc(deps, compareIDs)
		deps = slices.Compact(deps)
		e.DependsOn = &deps
	}
	return checkLease(value(e.Lease))
}

// checked validates and normalizes an optional list. It does not modify the caller's.
func checked[T any](list *[]T, check func([]T) ([]T, error)) (*[]T, error) {
	if list == nil {
		return nil, nil
	}
	out, err := check(*list)
	return &out, err
}

// value returns *p, or the zero value if p is nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// checkReport validates and normalizes a report.
func checkReport(r *Report) error {
	if strings.TrimSpace(r.Summary) == "" {
		return invalid("a report needs a summary")
	}
	if err := checkTexts(text{"summary", r.Summary, maxText}); err != nil {
		return err
	}
	if !slices.Contains([]string{"", CheckNotAccepted, CheckWasWaived}, r.Check) {
		return invalid("invalid check %.40q: want %q or %q", r.Check, CheckNotAccepted, CheckWasWaived)
	}
	if err := cmp.Or(checkWhere(&r.Where), checkTip(r.Tip), checkIncluded(r.Includes), checkLoose(r.Loose), checkDiff(r.Diff), checkDiffOf(r.Diff, r.Tip)); err != nil {
		return err
	}
	if len(r.Evidence) > 50 || len(r.Observed) > 50 || len(r.Artifacts) > 50 {
		return invalid("too much evidence: want at most 50 pieces of evidence and 50 artifacts")
	}
	for _, e := range slices.Concat(r.Evidence, r.Observed) {
		if strings.TrimSpace(e.Ref) == "" {
			return invalid("evidence of kind %s needs a ref: the commit, URL, file or command", e.Kind)
		}
		if !slices.Contains(EvidenceKinds, e.Kind) {
			return invalidEvidence(e.Kind)
		}
		if err := checkTexts(text{"evidence", e.Ref, maxText}, text{"evidence", e.Detail, maxText}); err != nil {
			return err
		}
	}
	for _, a := range r.Artifacts {
		if err := checkTexts(text{"artifact", a, 4096}); err != nil {
			return err
		}
	}
	r.FollowUps = slices.Clone(r.FollowUps)
	for i := range r.FollowUps {
		if err := checkNew(&r.FollowUps[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkSkills validates skills, and returns them in lower case, sorted and unique.
func checkSkills(skills []string) ([]string, error) {
	if len(skills) > maxList {
		return nil, invalid("too many skills: %d, want at most %d", len(skills), maxList)
	}
	out := make([]string, 0, len(skills))
	for _, s := range skills {
		s = strings.ToLower(strings.TrimSpace(s))
		if s == "" || len(s) > 40 || strings.ContainsAny(s, " ,\x00\t\n\v\f\r\u0085\u2028\u2029") {
			return nil, invalid("invalid skill %.40q: want one word of at most 40 letters", s)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// checkAreas validates directories, and returns them as clean relative paths, cut at the
// first wildcard, sorted and unique.
func checkAreas(areas []string) ([]string, error) {
	if len(areas) > maxList {
		return nil, invalid("too many areas: %d, want at most %d", len(areas), maxList)
	}
	out := make([]string, 0, len(areas))
	for _, a := range areas {
		a = strings.ReplaceAll(strings.TrimSpace(a), `\`, "/")
		if i := strings.IndexAny(a, "*?[{"); i >= 0 {
			a = a[:strings.LastIndex("/"+a[:i], "/")]
		}
		if a = strings.TrimPrefix(path.Clean("/"+a), "/"); a == "" {
			a = "." // the whole tree
		}
		if err := checkTexts(text{"area", a, 400}); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// checkWants validates evidence kinds, and returns them sorted and unique.
func checkWants(kinds []EvidenceKind) ([]EvidenceKind, error) {
	kinds = slices.Clone(kinds)
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for _, k := range kinds {
		if !slices.Contains(EvidenceKinds, k) {
			return nil, invalidEvidence(k)
		}
	}
	return kinds, nil
}

// invalidEvidence is the error for an unknown kind of evidence.
func invalidEvidence(k EvidenceKind) error {
	return invalid("invalid evidence kind %.20q: want one of %s", k, join(EvidenceKinds))
}

// join writes the choices that there are, separated by commas.
func join[T ~string](choices []T) string {
	var b strings.Builder
	for i, c := range choices {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(c))
	}
	return b.String()
}

func checkLease(d time.Duration) error {
	if d < 0 || d > 24*time.Hour {
		return invalid("invalid lease %v: want 0 to 24 hours", d)
	}
	return nil
}

// firstLine returns the first line of a description, shortened, as the title of a task
// that has none.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "#*- \t"))
	if len(line) <= 100 {
		return line
	}
	cut := strings.LastIndexByte(line[:98], ' ')
	if cut < 40 {
		cut = 97
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
	}
	return strings.TrimSpace(line[:cut]) + "…"
}

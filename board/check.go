package board

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// How large things may be.
const (
	maxTitle = 200
	maxText  = 32 << 10
	maxLong  = 128 << 10
	maxList  = 8
	maxLinks = 100
)

type text struct {
	name, text string
	limit      int
}

// checkTexts refuses what is too long or no text.
func checkTexts(ts ...text) error {
	for _, t := range ts {
		if len(t.text) > t.limit {
			return invalid("%s has %d bytes, and at most %d fit", t.name, len(t.text), t.limit)
		}
		if !utf8.ValidString(t.text) || strings.ContainsRune(t.text, 0) {
			return invalid("%s is not text", t.name)
		}
	}
	return nil
}

// checkNew checks a new task and brings it into its usual form.
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
		return invalid("a title is one line")
	}
	if n.Priority < Urgent || n.Priority > Low {
		return invalid("there is no priority %d", n.Priority)
	}
	if n.MaxFailures == 0 {
		n.MaxFailures = 3
	}
	if n.MaxFailures < 1 || n.MaxFailures > 100 {
		return invalid("max_failures is %d, and not within 1 and 100", n.MaxFailures)
	}
	if len(n.DependsOn) > maxLinks {
		return invalid("a task depends on at most %d others", maxLinks)
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

func checkEdit(e *Edit) error {
	if e.Title != nil {
		title := strings.TrimSpace(*e.Title)
		if title == "" || strings.ContainsAny(title, "\n\r") {
			return invalid("a title is one line, and not empty")
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
		return invalid("there is no priority %d", p)
	}
	if e.MaxFailures != nil && (*e.MaxFailures < 1 || *e.MaxFailures > 100) {
		return invalid("max_failures is %d, and not within 1 and 100", *e.MaxFailures)
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
			return invalid("a task depends on at most %d others", maxLinks)
		}
		deps := slices.Clone(*e.DependsOn)
		slices.SortFunc(deps, compareIDs)
		deps = slices.Compact(deps)
		e.DependsOn = &deps
	}
	return checkLease(value(e.Lease))
}

// checked gives a list in its usual form; the caller's own stays as it is.
func checked[T any](list *[]T, check func([]T) ([]T, error)) (*[]T, error) {
	if list == nil {
		return nil, nil
	}
	out, err := check(*list)
	return &out, err
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func checkReport(r *Report) error {
	if strings.TrimSpace(r.Summary) == "" {
		return invalid("a report needs a summary")
	}
	if err := checkTexts(text{"summary", r.Summary, maxText}); err != nil {
		return err
	}
	if len(r.Evidence) > 50 || len(r.Artifacts) > 50 {
		return invalid("a report brings at most 50 pieces of evidence and 50 artifacts")
	}
	for _, e := range r.Evidence {
		if !slices.Contains(EvidenceKinds, e.Kind) {
			return invalid("the kind of evidence %.20q is none of %v", e.Kind, EvidenceKinds)
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

func checkSkills(skills []string) ([]string, error) {
	if len(skills) > maxList {
		return nil, invalid("at most %d skills, not %d", maxList, len(skills))
	}
	out := make([]string, 0, len(skills))
	for _, s := range skills {
		s = strings.ToLower(strings.TrimSpace(s))
		if s == "" || len(s) > 40 || strings.ContainsAny(s, " ,\t\n\x00") {
			return nil, invalid("%.40q is not a skill: a word of at most 40 letters", s)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// checkAreas brings directories into one form: relative, clean, cut at the first
// wildcard.
func checkAreas(areas []string) ([]string, error) {
	if len(areas) > maxList {
		return nil, invalid("at most %d areas, not %d", maxList, len(areas))
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

func checkWants(kinds []EvidenceKind) ([]EvidenceKind, error) {
	kinds = slices.Clone(kinds)
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for _, k := range kinds {
		if !slices.Contains(EvidenceKinds, k) {
			return nil, invalid("the kind of evidence %.20q is none of %v", k, EvidenceKinds)
		}
	}
	return kinds, nil
}

func checkLease(d time.Duration) error {
	if d < 0 || d > 24*time.Hour {
		return invalid("a lease of %v is not within 0 and 24 hours", d)
	}
	return nil
}

// firstLine is a title for a task that came without one.
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

// encode and decode keep values of this package as text.
func encode(v any) string {
	b, err := json.Marshal(v, json.OmitZeroStructFields(true), json.Deterministic(true),
		jsonv1.FormatDurationAsNano(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("board: " + err.Error()) // our own types
	}
	return string(b)
}

func decode(s string, v any) error { return json.Unmarshal([]byte(s), v) }

// hash tells whether two requests are the same.
func hash(v any) string {
	sum := sha256.Sum256([]byte(encode(v)))
	return hex.EncodeToString(sum[:16])
}

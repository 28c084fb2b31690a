package board

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Anybody can write the file of an import. So what it says that somebody answered, decided or
// observed is the file's word, and everything that comes from it carries the name of who
// imported it and the project that it was exported from.

// by says who imports what, such as "import by ada of web".
func (im *importing) by() string {
	return ImportBy + im.actor.String() + " of " + im.file.project.Slug
}

// ImportBy is what everything begins with that says who imported something.
const ImportBy = "import by "

// Imported reports whether an attempt was made on another board, by the word of an imported
// file. The principal of its worker then says who imported it.
func (a Attempt) Imported() bool { return strings.HasPrefix(a.Worker.Principal, ImportBy) }

// worker returns the worker of an attempt or a question in the file. No board gives a worker a
// name that looks like a person's.
func (im *importing) worker(w WorkerID) WorkerID {
	w.Principal = im.name(w.Principal, "")
	if !GivesName(w.Name) {
		w.Name = "imported"
	}
	return w
}

// name returns the name of somebody in the file, such as "import by ada of web: bob (person)".
func (im *importing) name(name string, kind ActorKind) string {
	return cutName(im.by() + ": " + kind.Named(cmp.Or(name, "somebody")))
}

// cutName cuts a text to maxImportName bytes.
func cutName(s string) string {
	n := min(len(s), maxImportName)
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// maxImportName is what addEvent accepts as the name of an actor, so that the export of an
// imported task can be imported.
const maxImportName = 400

// importSays is what an imported text about a check begins with.
const importSays = "the import says: "

// result marks a result as imported. Evidence that was observed elsewhere is a claim here.
func (im *importing) result(r *Result) {
	if r == nil {
		return
	}
	seen := "observed"
	if r.ObservedOn != "" {
		seen += " on " + r.ObservedOn
	}
	if r.ObservedBy != "" {
		seen += " with the key of " + r.ObservedBy
	}
	for i := range r.Evidence {
		e := &r.Evidence[i]
		if e.Observed {
			e.Observed = false
			e.Detail = strings.TrimSpace(e.Detail + " (" + seen + ", says the import)")
		}
	}
	if r.Check != "" && !strings.HasPrefix(r.Check, importSays) {
		r.Check = cutName(importSays + r.Check)
	}
	r.ObservedBy, r.ObservedOn = "", ""
	if r.Import == "" {
		r.Import = im.by()
	} else {
		r.Import = im.name(r.Import, "")
	}
	r.Comments = im.comments(r.Comments)
}

// comments returns comments of the file as imported ones. The file's stay as they are: a transaction may be repeated.
func (im *importing) comments(list []Comment) []Comment {
	list = slices.Clone(list)
	for i := range list {
		c := &list[i]
		c.By, c.As = im.name(c.By, c.As), ByImport
	}
	return list
}

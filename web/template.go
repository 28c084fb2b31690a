package web

import (
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
)

//go:embed template
var templateFiles embed.FS

// shared are the templates that every page may use.
var shared = []string{"template/layout.html", "template/symbols.html", "template/piece.html", "template/graph.html"}

// parseTemplates parses each page together with the shared templates. All of them are part
// of the program, so an error is a mistake in it.
func (s *Site) parseTemplates() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(template.FuncMap{
		"file":  s.files.address,
		"token": func() string { return s.placeholder },
	}).ParseFS(templateFiles, shared...))
	pages := map[string]*template.Template{}
	names, _ := fs.Glob(templateFiles, "template/*.html")
	for _, name := range names {
		if isShared(name) {
			continue
		}
		t := template.Must(template.Must(base.Clone()).ParseFS(templateFiles, name))
		pages[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return pages
}

func isShared(name string) bool {
	for _, s := range shared {
		if s == name {
			return true
		}
	}
	return false
}

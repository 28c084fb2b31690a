package clientconfig

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
)

// The lines around a section of a text file.
const sectionBegin, sectionEnd = "<!-- bossman: begin -->", "<!-- bossman: end -->"

var errSection = errors.New("has the beginning or the end of a section more than once, or one of them alone: remove the lines " +
	sectionBegin + " and " + sectionEnd)

// Section plans how a text is put between marks in a file of a project that agents read, such as AGENTS.md,
// or removed again if it is empty.
func Section(project, name, text string) (*Plan, error) {
	p := &Plan{
		File: File{Path: filepath.Join(project, name), Scope: Project}, Keys: []string{"section"},
		project: project, limit: maxProject,
	}
	err := p.read()
	if err == nil {
		err = p.section(text)
	}
	if err != nil {
		return nil, &Error{File: p.File.Path, Err: err}
	}
	return p, nil
}

func (p *Plan) section(text string) error {
	start, end := bytes.Index(p.Old, []byte(sectionBegin)), bytes.Index(p.Old, []byte(sectionEnd))
	if bytes.Count(p.Old, []byte(sectionBegin)) > 1 || bytes.Count(p.Old, []byte(sectionEnd)) > 1 || (start < 0) != (end < 0) || end < start {
		return errSection
	}
	if text == "" {
		return p.cutSection(start, end+len(sectionEnd))
	}
	nl := newline(p.Old)
	section := bytes.ReplaceAll([]byte(sectionBegin+"\n"+text+"\n"+sectionEnd), []byte("\n"), []byte(nl))
	p.Added = append(slices.Clone(section), nl...)
	if start >= 0 {
		p.New = splice(p.Old, start, end+len(sectionEnd), section)
		return nil
	}
	p.New = slices.Clone(p.Old)
	if len(p.New) > 0 {
		if !bytes.HasSuffix(p.New, []byte("\n")) {
			p.New = append(p.New, nl...)
		}
		p.New = append(p.New, nl...)
	}
	p.New = slices.Concat(p.New, section, []byte(nl))
	return nil
}

// cutSection removes a section.
func (p *Plan) cutSection(start, end int) error {
	if p.New = p.Old; start < 0 {
		p.Keys = nil
		return nil
	}
	before, err := p.readBackup()
	if err != nil {
		return err
	}
	if bytes.Contains(before, []byte(sectionBegin)) { // from before it was replaced: the file was not there earlier
		before, p.Restored = nil, true
	}
	inner := bytes.TrimSuffix(bytes.TrimPrefix(p.Old[start:end], []byte(sectionBegin)), []byte(sectionEnd))
	again := Plan{Old: before}
	if err := again.section(string(bytes.TrimSpace(bytes.ReplaceAll(inner, []byte("\r\n"), []byte("\n"))))); err == nil && bytes.Equal(again.New, p.Old) {
		p.New, p.Restored = before, true
		return nil
	}
	head, tail := bytes.TrimRight(p.Old[:start], "\r\n"), bytes.TrimLeft(p.Old[end:], "\r\n")
	nl := []byte(newline(p.Old))
	switch {
	case len(head) == 0:
		p.New = tail
	case len(tail) == 0:
		p.New = slices.Concat(head, nl)
	default:
		p.New = slices.Concat(head, nl, nl, tail)
	}
	if before == nil && len(p.New) == 0 {
		p.New = nil
	}
	return nil
}

package board

import (
	"context"
	"path"
	"slices"
	"strings"
)

// A Neighbour is a live claim whose work may collide with another one's: it is done in the
// same directory, or in areas that overlap.
type Neighbour struct {
	Task   ID
	Title  string
	Worker string
	// Dir is the directory that both work in, empty if their directories differ, or if the
	// workers are of different principals: then neither can know.
	Dir string
	// Areas are the paths that both tasks change, such as tools/doc for tasks with the
	// areas tools and tools/doc.
	Areas []string
}

// maxNeighbours bounds the neighbours of a hand-out.
const maxNeighbours = 5

// neighbours finds the live claims whose work may collide with that of a hand-out. Claims
// in the same directory are searched for among those of the same principal.
func (b *Board) neighbours(ctx context.Context, h *Handout) (ns []Neighbour, err error) {
	where, areas := h.Claim.Where, h.Task.Areas
	if h.Dossier.Claim != nil {
		where = h.Dossier.Claim.Where // which a delivery may have changed
	}
	if where.Dir == "" && len(areas) == 0 {
		return nil, nil
	}
	err = b.store.Read(ctx, func(r Reader) error {
		ns = nil
		var here, there []Claim
		if where.Dir != "" {
			if here, err = r.Claims(ClaimFilter{Principal: h.Claim.Worker.Principal}); err != nil {
				return err
			}
			here = slices.DeleteFunc(here, func(c Claim) bool { return !c.Where.In(where) })
		}
		if len(areas) > 0 {
			if there, err = r.Claims(ClaimFilter{Project: h.Task.ID.Project, Areas: areas, Limit: 2 * maxNeighbours}); err != nil {
				return err
			}
		}
		seen := map[ID]bool{h.Task.ID: true}
		for _, c := range slices.Concat(here, there) {
			if seen[c.Task] || len(ns) == maxNeighbours {
				continue
			}
			seen[c.Task] = true
			t, err := r.Task(c.Task)
			if err != nil {
				return err
			}
			n := Neighbour{Task: c.Task, Title: t.Title, Worker: c.Worker.Name}
			if c.Worker.Principal == h.Claim.Worker.Principal && c.Where.In(where) {
				n.Dir = where.Dir
			}
			if c.Task.Project == h.Task.ID.Project {
				n.Areas = commonAreas(areas, t.Areas)
			}
			ns = append(ns, n)
		}
		return nil
	})
	return ns, err
}

// In reports whether a worker works in the directory of a place. In containers a directory may
// have several names; then the branch tells, which is checked out in one worktree of a clone.
func (w Where) In(at Where) bool {
	if w.Away() || !w.SameClone(at) {
		return false
	}
	return w.Dir == at.Dir || w.Host != at.Host && w.Branch == at.Branch && w.Branch != ""
}

// commonAreas returns the paths that are in both lists or below a path of each.
func commonAreas(a, b []string) []string {
	var common []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case within(x, y):
				common = append(common, x)
			case within(y, x):
				common = append(common, y)
			}
		}
	}
	slices.Sort(common)
	return slices.Compact(common)
}

// within reports whether an area is another one or below it.
func within(area, of string) bool {
	area, of = path.Clean(area), path.Clean(of)
	return area == of || of == "." || strings.HasPrefix(area, of+"/")
}

package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// nodeHeight is the height of a node, layerGap the room between two layers, and rowGap
	// that between two rows of one layer.
	nodeHeight, layerGap, rowGap, nodeGap = 46, 44, 10, 12
	// maxNodes is how many nodes a graph draws.
	maxNodes = 60
)

// A node is a task in a graph.
type node struct {
	Name  string // its id, or its name in a plan
	Path  string // of its page; empty: there is none
	Title string
	Shape shape
	// Class is me, done, wait, or empty.
	Class string

	layer int
}

// A graphView is a graph as an SVG shows it: in layers from top to bottom, so that each task
// stands below those that it depends on.
type graphView struct {
	Label         string
	Class         string
	Width, Height int
	Nodes         []nodeView
	// Edges and Parts are the lines, as one path each: dependencies, and parts of a task.
	Edges, Parts string
	More         int // nodes that are not drawn
}

type nodeView struct {
	node
	X, Y, Width    int
	GX, GY, TX, TY int // of the symbol and of the text
	TitleY         int
	Full           string
}

// An edge leads from a node to one that depends on it, by their indexes. Part is set if the
// first is a part of the second.
type edge struct {
	from, to int
	part     bool
}

// drawGraph draws a graph with at most perRow nodes side by side.
func drawGraph(label, class string, nodes []node, edges []edge, perRow, width int) *graphView {
	g := &graphView{Label: label, Class: class}
	if len(nodes) > maxNodes {
		g.More = len(nodes) - maxNodes
		nodes = nodes[:maxNodes]
		edges = slices.DeleteFunc(slices.Clone(edges), func(e edge) bool { return e.from >= maxNodes || e.to >= maxNodes })
	}
	layers := map[int][]int{}
	deepest, widest := 0, 1
	for i, n := range nodes {
		layers[n.layer] = append(layers[n.layer], i)
		deepest = max(deepest, n.layer)
		widest = max(widest, min(perRow, len(layers[n.layer])))
	}
	g.Width = widest*(width+nodeGap) - nodeGap + 2
	at := make([]nodeView, len(nodes))
	y := 1
	for l := range deepest + 1 {
		ids := layers[l]
		sortByParents(ids, edges, at)
		for i := 0; i < len(ids); i += perRow {
			row := ids[i:min(i+perRow, len(ids))]
			x := (g.Width - len(row)*(width+nodeGap) + nodeGap) / 2
			for _, id := range row {
				n := nodes[id]
				at[id] = nodeView{node: n, X: x, Y: y, Width: width, GX: x + 10, GY: y + 8, TX: x + 27, TY: y + 18, TitleY: y + 36, Full: n.Title}
				at[id].Name, at[id].Title = cut(n.Name, (width-34)/7), cut(n.Title, (width-20)/7)
				x += width + nodeGap
			}
			y += nodeHeight + rowGap
		}
		y += layerGap - rowGap
	}
	g.Height, g.Nodes = y-layerGap+1, at
	var lines, parts strings.Builder
	for _, e := range edges {
		if e.part {
			drawEdge(&parts, at[e.from], at[e.to])
		} else {
			drawEdge(&lines, at[e.from], at[e.to])
		}
	}
	g.Edges, g.Parts = lines.String(), parts.String()
	return g
}

// sortByParents orders the nodes of a layer by where those stand that lead to them, so that
// fewer lines cross.
func sortByParents(ids []int, edges []edge, at []nodeView) {
	mean := map[int]int{}
	for _, id := range ids {
		sum, n := 0, 0
		for _, e := range edges {
			if e.to == id {
				sum, n = sum+at[e.from].X, n+1
			}
		}
		mean[id] = sum / max(n, 1)
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
}

// drawEdge draws a line from the bottom of a node to the top of another, with round corners.
func drawEdge(b *strings.Builder, from, to nodeView) {
	x1, y1, x2, y2 := from.X+from.Width/2, from.Y+nodeHeight, to.X+to.Width/2, to.Y
	if y2 <= y1 { // in one layer: that is no tree any more, but a plan may say so
		fmt.Fprintf(b, "M%d %dL%d %d", x1, y1, x2, y2)
		return
	}
	r := min(10, max(x2-x1, x1-x2)/2)
	if r == 0 {
		fmt.Fprintf(b, "M%d %dV%d", x1, y1, y2)
		return
	}
	side := r
	if x2 < x1 {
		side = -r
	}
	middle := y2 - layerGap/2
	fmt.Fprintf(b, "M%d %dV%dq0 %d %d %dH%dq%d 0 %d %dV%d", x1, y1, middle-r, r, side, r, x2-side, side, side, r, y2)
}

// setLayers puts each node below all that lead to it. The edges must form no cycle; if they
// do, the nodes of the cycle stay where they are.
func setLayers(nodes []node, edges []edge) {
	for range nodes {
		moved := false
		for _, e := range edges {
			if l := nodes[e.from].layer + 1; nodes[e.to].layer < l && l <= len(nodes) {
				nodes[e.to].layer, moved = l, true
			}
		}
		if !moved {
			return
		}
	}
}

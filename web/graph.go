package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// nodeHeight is the height of a node, layerGap the room between two layers, and rowGap
	// that between two rows of one layer.
	nodeHeight, layerGap, rowGap, nodeGap = 46, 44, 10, 12
	// Lines that cannot lead straight down go around all nodes, in one of the lanes beside
	// them, so that none seems to come from a node that it only passes.
	lanes, laneGap = 3, 5
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

	first, last bool // in the first or the last row of its layer
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
	margin := 0
	wraps := slices.ContainsFunc(slices.Collect(maps.Values(layers)), func(ids []int) bool { return len(ids) > perRow })
	if wraps && len(edges) > 0 || slices.ContainsFunc(edges, func(e edge) bool { return nodes[e.to].layer != nodes[e.from].layer+1 }) {
		margin = laneGap * (lanes + 1)
	}
	g.Width = widest*(width+nodeGap) - nodeGap + 2 + 2*margin
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
				at[id] = nodeView{node: n, X: x, Y: y, Width: width, GX: x + 10, GY: y + 8, TX: x + 27, TY: y + 18, TitleY: y + 36, Full: n.Title, first: i == 0, last: i+perRow >= len(ids)}
				at[id].Name, at[id].Title = cut(n.Name, (width-34)/7), cut(n.Title, (width-16)*10/64)
				x += width + nodeGap
			}
			y += nodeHeight + rowGap
		}
		y += layerGap - rowGap
	}
	g.Height, g.Nodes = y-layerGap+1, at
	var lines, parts strings.Builder
	for _, e := range edges {
		to := &lines
		if e.part {
			to = &parts
		}
		from, target := at[e.from], at[e.to]
		if from.last && target.first && target.layer == from.layer+1 {
			drawEdge(to, from, target)
			continue
		}
		lane := laneGap * (1 + e.to%lanes) // tasks that wait for different ones do not share a lane, if possible
		if from.X+target.X+width > g.Width {
			lane = g.Width - lane
		}
		drawAround(to, from, target, lane)
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

// drawAround draws a line from the bottom of a node to the top of another by a lane.
func drawAround(b *strings.Builder, from, to nodeView, lane int) {
	const r = rowGap / 2
	x1, y1, x2, y2 := from.X+from.Width/2, from.Y+nodeHeight, to.X+to.Width/2, to.Y
	out, in := -r, r
	if lane > x1 {
		out = r
	}
	if lane > x2 {
		in = -r
	}
	fmt.Fprintf(b, "M%d %dq0 %d %d %dH%dq%d 0 %d %dV%dq0 %d %d %dH%dq%d 0 %d %d", x1, y1, r, out, r, lane-out, out, out, r, y2-2*r, r, in, r, x2-in, in, in, r)
}

// star draws the lines between a node and all others, which stand above or below it in two
// columns. Of more than two on a side, all hang on one line between the columns.
func star(nodes []nodeView, middle int) string {
	var b strings.Builder
	me := nodes[middle]
	for _, side := range [][]nodeView{nodes[:middle], nodes[middle+1:]} {
		if len(side) < 3 {
			for _, n := range side {
				if n.Y < me.Y {
					drawEdge(&b, n, me)
				} else {
					drawEdge(&b, me, n)
				}
			}
			continue
		}
		if len(side)%2 == 1 {
			n := &side[len(side)-1]
			by := side[0].X - n.X
			n.X, n.GX, n.TX = n.X+by, n.GX+by, n.TX+by
		}
		x := me.X + me.Width/2
		from, to := side[0].Y+nodeHeight/2, me.Y
		if side[0].Y > me.Y {
			from, to = me.Y+nodeHeight, side[len(side)-1].Y+nodeHeight/2
		}
		fmt.Fprintf(&b, "M%d %dV%d", x, from, to)
		for _, n := range side {
			edge := n.X
			if n.X < x {
				edge += n.Width
			}
			fmt.Fprintf(&b, "M%d %dH%d", edge, n.Y+nodeHeight/2, x)
		}
	}
	return b.String()
}

// setLayers puts each node below all that lead to it, as near as possible to those that it
// leads to. Nodes without lines come last. The edges must form no cycle; if they do, the
// nodes of the cycle stay where they are.
func setLayers(nodes []node, edges []edge) {
	for range nodes {
		moved := false
		for _, e := range edges {
			if l := nodes[e.from].layer + 1; nodes[e.to].layer < l && l <= len(nodes) {
				nodes[e.to].layer, moved = l, true
			}
		}
		if !moved {
			break
		}
	}
	deepest := 0
	led, leads := map[int]bool{}, map[int]int{}
	for _, e := range edges {
		led[e.to] = true
		if l, ok := leads[e.from]; !ok || nodes[e.to].layer < l {
			leads[e.from] = nodes[e.to].layer
		}
		deepest = max(deepest, nodes[e.to].layer)
	}
	for i := range nodes {
		switch l, ok := leads[i]; {
		case ok && !led[i]:
			nodes[i].layer = max(0, l-1)
		case !ok && !led[i] && len(edges) > 0:
			nodes[i].layer = deepest + 1
		}
	}
}

package web

import (
	"strings"
	"testing"
)

// TestDrawGraph: nodes do not overlap, each stands below those that lead to it, and the graph
// is bounded.
func TestDrawGraph(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		edges []edge
		row   int
	}{
		"one":     {1, nil, 2},
		"chain":   {5, []edge{{from: 0, to: 1}, {from: 1, to: 2}, {from: 2, to: 3}, {from: 3, to: 4}}, 2},
		"fan":     {12, []edge{{from: 0, to: 1}, {from: 0, to: 2}, {from: 0, to: 3}, {from: 0, to: 4}, {from: 0, to: 5}, {from: 5, to: 6}}, 2},
		"skips":   {5, []edge{{from: 0, to: 1}, {from: 1, to: 2}, {from: 0, to: 2}, {from: 3, to: 2, part: true}}, 3},
		"a cycle": {3, []edge{{from: 0, to: 1}, {from: 1, to: 0}, {from: 1, to: 2}}, 3},
		"many":    {500, []edge{{from: 0, to: 499}, {from: 1, to: 2}}, 5},
	} {
		nodes := make([]node, c.n)
		for i := range nodes {
			nodes[i] = node{Name: "shop-1", Title: strings.Repeat("long ", 20)}
		}
		setLayers(nodes, c.edges)
		g := drawGraph("x", "", nodes, c.edges, c.row, 121)
		if len(g.Nodes) != min(c.n, maxNodes) || g.More != max(0, c.n-maxNodes) {
			t.Errorf("%s: %d nodes are drawn, %d are not", name, len(g.Nodes), g.More)
		}
		for i, a := range g.Nodes {
			if a.X < 0 || a.Y < 0 || a.X+a.Width > g.Width || a.Y+nodeHeight > g.Height {
				t.Errorf("%s: node %d is at %d,%d in %d x %d", name, i, a.X, a.Y, g.Width, g.Height)
			}
			for j, b := range g.Nodes[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+nodeHeight && b.Y < a.Y+nodeHeight {
					t.Errorf("%s: nodes %d and %d overlap", name, i, j)
				}
			}
		}
		for _, e := range c.edges {
			if name != "a cycle" && e.to < len(g.Nodes) && g.Nodes[e.to].Y < g.Nodes[e.from].Y+nodeHeight {
				t.Errorf("%s: node %d is not below node %d", name, e.to, e.from)
			}
		}
	}
}

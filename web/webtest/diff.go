package webtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// diffOf is what the work on a task changed: a few files, one of them new, sometimes a large
// or a renamed one.
func diffOf(id board.ID, tip board.Tip, r *rand.Rand) board.Diff {
	d := board.Diff{Base: tip.Base, Tip: tip.Commit}
	n := 2 + r.IntN(4)
	first := r.IntN(len(files))
	for i := range n {
		path := files[(first+i)%len(files)]
		f := board.FileDiff{Path: path, Kind: "M", Size: 4000}
		f.Patch, f.Added, f.Removed = patch(path, 1+r.IntN(3), r)
		switch {
		case i == n-1:
			f.Kind, f.Path = "A", strings.TrimSuffix(path, ".ts")+".test.ts"
		case i == 1 && id.No%5 == 0:
			f.Kind, f.From = "R", "src/old/"+path[strings.LastIndexByte(path, '/')+1:]
		case i == 2 && id.No%7 == 0:
			f.Patch, f.Left, f.Added = "", "large", 4812
		}
		d.Files = append(d.Files, f)
	}
	return d
}

// patch makes some hunks.
func patch(path string, hunks int, r *rand.Rand) (text string, added, removed int) {
	var b strings.Builder
	for h := range hunks {
		line := 10 + 40*h + r.IntN(20)
		fmt.Fprintf(&b, "@@ -%d,6 +%d,8 @@ export function total(cart: Cart)\n", line, line)
		b.WriteString(" \tconst lines = cart.lines.filter(l => l.quantity > 0);\n")
		b.WriteString("-\treturn round(lines.reduce((sum, l) => sum + l.price * l.quantity, 0));\n")
		b.WriteString("+\tconst net = lines.map(l => roundLine(l.price * l.quantity, cart.country));\n")
		b.WriteString("+\tif (net.length === 0) return zero(cart.currency);\n")
		b.WriteString("+\treturn net.reduce((sum, n) => sum.plus(n));\n")
		b.WriteString(" }\n \n")
		fmt.Fprintf(&b, " // %s: %d\n", path, h)
		added, removed = added+3, removed+1
	}
	return b.String(), added, removed
}

var files = []string{
	"src/product/price.ts", "src/cart/total.ts", "src/cart/merge.ts", "src/checkout/paypal.ts", "internal/tax/rounding.go", "internal/orders/outbox.go",
	"src/img/resize.go", "src/product/StockBadge.tsx", "content/alt/index.ts", "src/search/synonyms.ts",
}

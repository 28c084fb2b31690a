package git

// SetLandStep makes a function be called before and after each step of a landing, and returns one
// that ends this.
func SetLandStep(f func(name string)) (reset func()) {
	landStep = f
	return func() { landStep = nil }
}

// Applied applies a patch to a text.
var Applied = applied

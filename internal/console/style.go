package console

// A Style is how a piece of text looks: the parameter of an SGR escape sequence. The
// zero Style is plain.
type Style string

const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// styles are all styles, and the end of one.
var styles = []Style{Bold, Dim, Red, Green, Yellow, Cyan, plain}

const plain Style = "0"

// Styled is text in a style, if this console has colours. The style is put in where the text
// is printed; see escaper.
func (c *Console) Styled(s Style, text string) string {
	if !c.colour || s == "" || text == "" {
		return text
	}
	return styleKey + string(s) + "m" + text + styleKey + string(plain) + "m"
}

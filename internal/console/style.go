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

// Styled is text in a style, if this console has colours.
func (c *Console) Styled(s Style, text string) string {
	if !c.colour || s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

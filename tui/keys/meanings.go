package keys

// Meaning is the purpose of keys, the same on every screen that has a command for them.
type Meaning struct {
	Title string // a few words, in the imperative: "can't " and a reason go around it
	Keys  []string
	// Motion reports that it only moves a cursor: pasted text may repeat it.
	Motion bool
}

// Key returns the first key, for use in sentences.
func (m Meaning) Key() string { return FormatKeys(m.Keys[0]) }

func on(title string, keys ...string) Meaning { return Meaning{Title: title, Keys: keys} }

func motion(title string, keys ...string) Meaning {
	return Meaning{Title: title, Keys: keys, Motion: true}
}

// Motions, in every pane.
var (
	Outward  = motion("go left, or fold", "h", "left")
	Inward   = motion("go right, or unfold", "l", "right")
	Next     = motion("go to the next", "n", "ctrl+n")
	Previous = motion("go to the previous", "p", "N")
)

// Choosing and displaying things.
var (
	Narrow       = on("filter", "/")
	NamedFilters = on("keep the filter, or take one that is kept", "&")
	Find         = on("find text", "f")
	Follow       = on("follow what is new, or stop", "F")
	Hidden       = on("show what is hidden, or hide it", ".")
	Refresh      = on("ask the server again", "ctrl+r")
	AtRevision   = on("choose a revision", "@")
	AtPresent    = on("go back to now")
	Differences  = on("show what differs", "d")
	CompareTwo   = on("compare two side by side", "D")
	Unchanged    = on("show what is the same, or hide it", "u")
	AnotherForm  = on("show it in another form", "a")
	OtherSide    = on("turn to the other side", "A")
	PreviousTab  = on("show the previous tab", "[")
	NextTab      = on("show the next tab", "]")
	Code         = on("show the source code", "v")
	TheStep      = on("show the step", "P")
	TheObject    = on("show the object", "O")
	EtcdAsked    = on("show what etcd was asked", "Z")
	TheTime      = on("show where the time went", "U")
	WhoGotIt     = on("show who got the event", "W")
	TheRequest   = on("show the request", "Q")
	Tell         = on("tell it in sentences", "S")
	Draw         = on("draw it as a picture", "_")
	Mark         = on("mark, or unmark", "m")
	JumpToMark   = on("go to a mark", "'")
)

// Going to another screen, with the row under the cursor.
var (
	ToRequests  = on("show its requests", "J")
	ToEtcd      = on("show it in etcd", "V")
	ToCache     = on("show its watch cache", "H")
	ToStructure = on("show it in the server's map", "s")
	ToRules     = on("list breakpoints and faults", "B")
)

// Stepping through requests, and injecting failures.
var (
	Into        = on("go into the step", "i")
	Out         = on("go out of the step", "o")
	RunTo       = on("run to a step", ">")
	NextLayer   = on("run to the next layer", "}")
	LastLayer   = on("go back to the layer before", "{")
	NextChange  = on("run to the next change of the object", ")")
	LastChange  = on("go back to the change before", "(")
	Continue    = on("let it go on", "c")
	ContinueAll = on("let all held requests go on", "C")
	Break       = on("break at a step", "b")
	Trace       = on("trace a step", "t")
	GoWrong     = on("have something go wrong", "X")
	Steal       = on("steal the revision", "x")
	StaleCache  = on("let the cache fall behind, or catch up", "L")
	Compact     = on("compact etcd", "ctrl+k")
	Record      = on("record objects, or stop", "~")
)

// Making and changing things.
var (
	Send         = on("send it", "r", "alt+r")
	SendHeld     = on("send the request, held", "R")
	End          = on("end it", "K")
	Edit         = on("change it", "e")
	InEditor     = on("open it in $EDITOR", "E")
	Remove       = on("delete it", "delete", "backspace")
	Switch       = on("start it, or stop it", " ")
	Count        = on("change how often it applies", "#")
	Undo         = on("undo", "ctrl+z")
	Redo         = on("redo", "ctrl+y")
	Example      = on("write an example", "T")
	InitialState = on("watch from the present state", "I")
)

// Lessons.
var (
	Shell         = on("type a command", "!", "$")
	Hint          = on("show a hint", "*")
	Solution      = on("show the solution", "=")
	PassOver      = on("pass over it", ";")
	QuestionsOnly = on("answer the questions alone", "%")
	Anew          = on("begin anew", "<")
)

// Copying and saving.
var (
	CopyCommand = on("copy the command that does the same", "Y")
	Save        = on("save what is shown", "w")
	OpenFile    = on("open a file", "ctrl+o")
)

// Ending and completing a line.
var (
	Accept   = on("take what is typed", "enter")
	Complete = on("complete what is typed", "tab")
)

// Editing a text of several lines.
var (
	NewLine  = on("begin a new line", "enter")
	Indent   = on("indent", "tab")
	PageDown = on("go down half a page", "pgdown", "ctrl+d")
	PageUp   = on("go up half a page", "pgup")
)

// The program around the screens.
var (
	GoBack      = on("go back", "esc")
	OpenPalette = on("list all commands", ":", "ctrl+p")
	OpenHelp    = on("show the keys of this pane", "?", "f1")
	TakeMouse   = on("take the mouse, or leave it to the terminal", "M")
	NextTheme   = on("change the colours", "ctrl+t")
	OpenDid     = on("show what was sent as commands", "^")
	WhichServer = on("say which server this is")
	OpenLog     = on("show the log", "ctrl+l")
	ToLesson    = on("go to the lesson, or back to the screen beside it", ",")
	Quit        = on("quit", "q")
	QuitAlways  = on("quit, whatever is open", "ctrl+c")
	Yes         = on("answer yes", "y")
	No          = on("answer no", "n")
)

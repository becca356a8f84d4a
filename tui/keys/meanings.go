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

func meaning(title string, keys ...string) Meaning { return Meaning{Title: title, Keys: keys} }

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
	Narrow       = meaning("filter", "/")
	NamedFilters = meaning("keep the filter, or take one that is kept", "&")
	Find         = meaning("find text", "f")
	Follow       = meaning("follow what is new, or stop", "F")
	Hidden       = meaning("show what is hidden, or hide it", ".")
	Refresh      = meaning("ask the server again", "ctrl+r")
	AtRevision   = meaning("choose a revision", "@")
	AtPresent    = meaning("go back to now")
	Differences  = meaning("show what differs", "d")
	CompareTwo   = meaning("compare two side by side", "D")
	Unchanged    = meaning("show what is the same, or hide it", "u")
	AnotherForm  = meaning("show it in another form", "a")
	OtherSide    = meaning("turn to the other side", "A")
	PreviousTab  = meaning("show the previous tab", "[")
	NextTab      = meaning("show the next tab", "]")
	Code         = meaning("show the source code", "v")
	TheStep      = meaning("show the step", "P")
	TheObject    = meaning("show the object", "O")
	EtcdAsked    = meaning("show what etcd was asked", "Z")
	TheTime      = meaning("show where the time went", "U")
	WhoGotIt     = meaning("show who got the event", "W")
	TheRequest   = meaning("show the request", "Q")
	Tell         = meaning("tell it in sentences", "S")
	Draw         = meaning("draw it as a picture", "_")
	OtherWay     = meaning("send it another way", "|")
	Mark         = meaning("mark, or unmark", "m")
	JumpToMark   = meaning("go to a mark", "'")
)

// Going to another screen, with the row under the cursor.
var (
	ToRequests  = meaning("show its requests", "J")
	ToEtcd      = meaning("show it in etcd", "V")
	ToCache     = meaning("show its watch cache", "H")
	ToStructure = meaning("show it in the server's map", "s")
	ToRules     = meaning("list breakpoints and faults", "B")
)

// Stepping through requests, and injecting failures.
var (
	Into        = meaning("go into the step", "i")
	Out         = meaning("go out of the step", "o")
	RunTo       = meaning("run to a step", ">")
	NextLayer   = meaning("run to the next layer", "}")
	LastLayer   = meaning("go back to the layer before", "{")
	NextChange  = meaning("run to the next change of the object", ")")
	LastChange  = meaning("go back to the change before", "(")
	Continue    = meaning("let it go on", "c")
	ContinueAll = meaning("let all held requests go on", "C")
	Break       = meaning("break at a step", "b")
	Trace       = meaning("trace a step", "t")
	GoWrong     = meaning("have something go wrong", "X")
	Steal       = meaning("steal the revision", "x")
	StaleCache  = meaning("let the cache fall behind, or catch up", "L")
	Compact     = meaning("compact etcd", "ctrl+k")
	Record      = meaning("record objects, or stop", "~")
)

// Making and changing things.
var (
	Send         = meaning("send it", "r", "alt+r")
	SendHeld     = meaning("send the request, held", "R")
	End          = meaning("end it", "K")
	Edit         = meaning("change it", "e")
	InEditor     = meaning("open it in $EDITOR", "E")
	Remove       = meaning("delete it", "delete", "backspace")
	Switch       = meaning("start it, or stop it", " ")
	Count        = meaning("change how often it applies", "#")
	Undo         = meaning("undo", "ctrl+z")
	Redo         = meaning("redo", "ctrl+y")
	Example      = meaning("write an example", "T")
	InitialState = meaning("watch from the present state", "I")
)

// Lessons.
var (
	Shell         = meaning("type a command", "!", "$")
	Hint          = meaning("show a hint", "*")
	Solution      = meaning("show the solution", "=")
	PassOver      = meaning("pass over it", ";")
	QuestionsOnly = meaning("answer the questions alone", "%")
	Anew          = meaning("begin anew", "<")
)

// Copying and saving.
var (
	CopyCommand = meaning("copy the command that does the same", "Y")
	Save        = meaning("save what is shown", "w")
	OpenFile    = meaning("open a file", "ctrl+o")
)

// Ending and completing a line.
var (
	Accept   = meaning("take what is typed", "enter")
	Complete = meaning("complete what is typed", "tab")
)

// Editing a text of several lines.
var (
	NewLine  = meaning("begin a new line", "enter")
	Indent   = meaning("indent", "tab")
	PageDown = meaning("go down half a page", "pgdown", "ctrl+d")
	PageUp   = meaning("go up half a page", "pgup")
)

// The program around the screens.
var (
	GoBack         = meaning("go back", "esc")
	OpenPalette    = meaning("list all commands", ":", "ctrl+p")
	OpenHelp       = meaning("show the keys of this pane", "?", "f1")
	TakeMouse      = meaning("take the mouse, or leave it to the terminal", "M")
	NextTheme      = meaning("change the colours", "ctrl+t")
	OpenCommandLog = meaning("show what was sent as commands", "^")
	WhichServer    = meaning("say which server this is")
	OpenLog        = meaning("show the log", "ctrl+l")
	ToLesson       = meaning("go to the lesson, or back to the screen beside it", ",")
	Quit           = meaning("quit", "q")
	QuitAlways     = meaning("quit, whatever is open", "ctrl+c")
	Yes            = meaning("answer yes", "y")
	No             = meaning("answer no", "n")
)

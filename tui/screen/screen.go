package screen

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Name names a screen: in the header, in targets, in help.
type Name string

// The numbered screens, in the order of their digits, and those that open above them.
const (
	Capture   Name = "Capture"
	Send      Name = "Send"
	Etcd      Name = "etcd"
	Cache     Name = "Cache"
	Structure Name = "Structure"

	Rules      Name = "Breakpoints"
	Source     Name = "Source"
	Compare    Name = "Compare"
	Story      Name = "Story"
	Picture    Name = "Picture"
	Log        Name = "Log"
	CommandLog Name = "Command log"

	// Lesson is beside the others. kx learn has it.
	Lesson Name = "Lesson"
)

// Screen draws the lines between the header and the foot. [Split] implements most of its methods.
type Screen interface {
	Name() Name

	// Contexts lists the screen's key contexts: one for each pane, and one for each line that the user types into. No
	// other screen has them.
	Contexts() []keys.Context
	// Context is the context of the next key.
	Context() keys.Context
	// Focus gives the focus to the pane of a context. It reports whether there is such a pane now.
	Focus(keys.Context) bool
	// Commands returns the screen's own commands. The program calls it once.
	Commands() []keys.Command
	// Handle runs a command that all screens share, such as a motion, keys.Open or keys.Back. It reports whether the
	// command had an effect.
	Handle(keys.ID) (tea.Cmd, bool)
	// Type takes text that the user typed or pasted into a line.
	Type(text []rune)
	// Mouse takes a press of the left button (wheel is 0), or a turn of the wheel (by -1 or 1), at a cell of the
	// screen.
	Mouse(x, y, wheel int) tea.Cmd

	SetSize(w, h int)
	// Borders holds the positions to which the user moved the borders. They last from one run to the next.
	Borders() *layout.Borders
	// Resize makes the pane with the focus larger or smaller. It reports whether there is a border to move.
	Resize(larger bool) bool
	Render() []string
	// Blur tells the screen whether a lesson beside it has the focus, or the screen beside the lesson.
	Blur(away bool)
	// Foot returns two lines for below the screen: the equivalent command, and the state. Either may be empty.
	Foot() (sameAs, state string)

	// Show is called when the user comes to the screen. to is one of its targets; nil leaves the screen as it was.
	Show(to Target) tea.Cmd
	// Hide is called when the user leaves the screen.
	Hide()
	// Drain takes the data that the screen's own goroutines collected since the last Drain.
	Drain() tea.Cmd
	// Close stops the work that the screen started.
	Close()
}

// Host is the program around a screen.
type Host interface {
	// Context ends when the program does.
	Context() context.Context
	API() *api.Client
	// Theme returns the current theme. Screens call it for each frame, because the user may change the theme.
	Theme() theme.Theme
	// Zone is the time zone of the times shown.
	Zone() *time.Location
	// Reasons lists the reasons of this version of kx.
	Reasons() trace.Catalogue
	// Kubeconfig is the file with which other programs reach the server. It may be empty.
	Kubeconfig() string
	// KubeContext is the context in it that other programs must name; empty for the current one.
	KubeContext() string

	// Say and Complain write a note into the line of state. The next key clears it.
	Say(text string)
	Complain(text string)
	// Go leads to another screen.
	Go(Target) tea.Cmd
	// Back closes a screen that is above others.
	Back() tea.Cmd
	// Copy puts text on the clipboard.
	Copy(text string) tea.Cmd
	// Ask asks for one line and calls then with it. esc gives up.
	Ask(question, initial string, then func(answer string) tea.Cmd) tea.Cmd
	// Propose asks as Ask does, but typing replaces the proposal, such as a number.
	Propose(question, proposal string, then func(answer string) tea.Cmd) tea.Cmd
	// Choose offers a menu. esc gives up.
	Choose(Menu) tea.Cmd
	// Confirm calls then if the user says yes.
	Confirm(question string, then func() tea.Cmd) tea.Cmd
	// Edit opens text in $EDITOR, in a file whose name ends with suffix. then gets the saved text, or an error.
	Edit(text []byte, suffix string, then func(edited []byte, err error) tea.Cmd) tea.Cmd
	// Do runs work on a goroutine of its own, and then the function that it returns on the goroutine of the screens,
	// whichever screen is current by then. A panic in either is caught. See [Do] and [Get].
	Do(work func() (then func() tea.Cmd)) tea.Cmd
	// Quit leaves the program, without asking.
	Quit() tea.Cmd
	// Guard catches a panic. Every goroutine that a screen starts defers it.
	Guard()
	// Changed asks for a Drain of every screen soon. Any goroutine may call it.
	Changed()
}

// Target is a place on a screen, to which other screens lead.
type Target interface{ Screen() Name }

// ToScreen leads to a screen as it was left.
type ToScreen struct{ Name Name }

// Look leads to a target, and moves the focus from a lesson to the screen where only one of them fits.
type Look struct{ Target }

// ToRequest leads to a request, to one of its steps, and to a field in it.
type ToRequest struct {
	Journey string
	Step    string // the ID of a step; the first of that ID
	Field   string // such as spec.replicas
	Tab     string // the English name of a tab of Detail
}

// ToRequests leads to the requests that match a filter.
type ToRequests struct{ Filter string }

// ToNewest leads to the newest request, and follows new ones.
type ToNewest struct{}

// ToSend leads to a request that can be changed and sent.
type ToSend struct {
	Method, URI, ContentType string
	Body                     []byte
	Held                     bool // it is sent at once, held at its first step
	// HeldAt is the step that holds the request instead of the first, after Skip passes.
	HeldAt string
	Skip   int
}

// ToKey leads to a key in etcd, and to one of its revisions unless that is 0.
type ToKey struct {
	Key      string
	Revision int64
}

// ToCache leads to the watch cache of a resource, such as pods or crontabs.stable.example.com.
type ToCache struct{ Resource string }

// ToStructure leads to a resource in the server's map. An empty target leaves the map as it is.
type ToStructure struct{ Group, Resource string }

// ToSource leads to a line of the server's source. File is in the form that steps use.
type ToSource struct {
	File string
	Line int
	// Function, Upstream, UpstreamFile and Release describe the line, where they are known.
	Function, Upstream, UpstreamFile, Release string
	// Because is the reason of the step, for a step that has one.
	Because string
	// Theirs asks for the upstream code.
	Theirs bool
}

// ToCompare leads to two requests side by side.
type ToCompare struct{ A, B *v1alpha1.Journey }

// ToStory leads to the story of a request, at the sentence of a step. Others are the requests that changed the object
// over which this one was refused.
type ToStory struct {
	Journey *v1alpha1.Journey
	Others  []*v1alpha1.Journey
	Step    int
}

// ToPicture leads to the picture of a request, at the stop of a step. Others are as for ToStory. Beside is a second
// request that is drawn with it; then it leads to where they part.
type ToPicture struct {
	Journey *v1alpha1.Journey
	Others  []*v1alpha1.Journey
	Step    int
	Beside  *v1alpha1.Journey
}

// ToRules leads to the breakpoints and faults. A non-empty Filter begins a new breakpoint.
type ToRules struct{ Filter string }

// ToLog leads to this program's log.
type ToLog struct{}

// ToCommandLog leads to what was sent for the user, as commands.
type ToCommandLog struct{}

func (t ToScreen) Screen() Name   { return t.Name }
func (ToRequest) Screen() Name    { return Capture }
func (ToRequests) Screen() Name   { return Capture }
func (ToNewest) Screen() Name     { return Capture }
func (ToSend) Screen() Name       { return Send }
func (ToKey) Screen() Name        { return Etcd }
func (ToCache) Screen() Name      { return Cache }
func (ToStructure) Screen() Name  { return Structure }
func (ToSource) Screen() Name     { return Source }
func (ToCompare) Screen() Name    { return Compare }
func (ToStory) Screen() Name      { return Story }
func (ToPicture) Screen() Name    { return Picture }
func (ToRules) Screen() Name      { return Rules }
func (ToLog) Screen() Name        { return Log }
func (ToCommandLog) Screen() Name { return CommandLog }

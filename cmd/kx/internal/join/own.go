package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/liblog"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// stopWait is how long requests in flight may take to end once nobody uses the server.
	stopWait = 10 * time.Second
	// patience is how long an owner waits for others in silence.
	patience = time.Second
	// pauseMost is how long an owner pauses at most before it tries again to have the directory.
	pauseMost = time.Second
)

// own starts a server over dir in this process, and the command in another, and returns the command's exit code when
// nobody uses the server any more and it has stopped.
func own(ctx context.Context, dir string, say func(string)) (code int, err error) {
	o := options.New()
	o.InitialObjects = false                                   // a server for one command leaves nothing that the command did not ask for
	o.Controllers = controller.Selection{controller.Namespace} // what others do may take longer than the command
	o.Admission.Disabled = []string{"ServiceAccount"}          // since nobody makes accounts
	o.DataDir, o.Listen = dir, "127.0.0.1:0"
	if err := o.Validate(); err != nil {
		return 0, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	liblog.SendTo(log.Handler())
	command, err := start(dir)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	s, err := startServer(ctx, o, log, command)
	if s == nil || err != nil {
		return command.end(err)
	}
	say(fmt.Sprintf("no server runs: started one over %s for this command", dir))
	code = command.wait(signals)
	users := waitForOthers(dir, signals, say)
	stopCtx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	err = s.Stop(stopCtx)
	if users != nil {
		err = errors.Join(err, users.Close())
	}
	return code, err
}

// startServer starts the server. While another process has the directory it tries again: either that one serves, and
// the command joins it, or it leaves. The server is nil if the command ended meanwhile.
func startServer(ctx context.Context, o *options.Options, log *slog.Logger, c *command) (*server.Server, error) {
	for pause := lookEvery; ; pause = min(2*pause, pauseMost) {
		s, err := server.Start(ctx, o, log)
		if !errors.Is(err, identity.ErrInUse) {
			return s, err
		}
		select {
		case <-c.done:
			return nil, nil
		case <-time.After(pause):
		}
	}
}

// waitForOthers returns the lock that no user holds any more, or nil if a signal came first.
func waitForOthers(dir string, signals <-chan os.Signal, say func(string)) *os.File {
	// A signal that came while the command ran was for the command.
	for len(signals) > 0 {
		<-signals
	}
	alone := make(chan *os.File, 1)
	go func() {
		f, err := openUsers(dir, true)
		if err != nil {
			say(err.Error())
		}
		alone <- f
	}()
	slow := time.After(patience)
	for {
		select {
		case f := <-alone:
			return f
		case <-slow:
			say(stillUsed(usersOf(dir)))
		case <-signals:
			return nil
		}
	}
}

func stillUsed(users []string) string {
	if len(users) == 0 {
		users = []string{"others"} // they have not said who they are
	}
	return fmt.Sprintf("other commands still use the server of this one: waiting for %s (interrupt to stop it)", strings.Join(users, ", "))
}

// command is this command, run by another process.
type command struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended
}

// start starts the command that this process was called with, as a user of the server that is about to come.
func start(dir string) (*command, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), onlyVariable+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	c := &command{cmd: cmd, done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// end ends a command that has no server, unless it has ended by itself.
func (c *command) end(err error) (int, error) {
	if err != nil {
		_ = c.cmd.Process.Kill()
	}
	<-c.done
	return c.code(), err
}

// wait returns the exit code. A terminal sends an interrupt to the command as well; what is sent to this process alone
// is passed on.
func (c *command) wait(signals <-chan os.Signal) int {
	for {
		select {
		case <-c.done:
			return c.code()
		case sig := <-signals:
			if sig != os.Interrupt {
				_ = c.cmd.Process.Signal(sig)
			}
		}
	}
}

func (c *command) code() int {
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return 0
	case errors.As(c.err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return 1 // it was killed
}

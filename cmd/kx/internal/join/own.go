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

	"github.com/kx-apiserver/kx/cmd/kx/internal/child"
	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// stopWait limits the time for running requests to end once the last user has left.
	stopWait = 10 * time.Second
	// patience is the time for which an owner waits for other users without a message.
	patience = time.Second
	// pauseMost limits the pause between an owner's attempts to lock the directory.
	pauseMost = time.Second
)

// startOwn starts a server over dir in this process, and the command in another process. After the last user has left
// it stops the server, and returns the command's exit code.
func startOwn(ctx context.Context, dir string, say func(string)) (code int, err error) {
	o := options.New()
	o.InitialObjects = false                                   // a server for one command stores only the command's own objects
	o.Controllers = controller.Selection{controller.Namespace} // the work of other controllers could outlast the command
	o.Admission.Disabled = []string{"ServiceAccount"}          // since no controller creates accounts
	o.DataDir, o.Listen = dir, "127.0.0.1:0"
	if err := o.Validate(); err != nil {
		return 0, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	proc.SendLogs(log.Handler())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	command, err := start(dir, signals)
	if err != nil {
		return 0, err
	}
	s, err := startServer(ctx, o, log, command)
	if err != nil {
		command.Kill()
	}
	if s == nil {
		code, waitErr := command.Wait()
		return code, errors.Join(err, waitErr)
	}
	say(fmt.Sprintf("no server runs: started one over %s for this command", dir))
	code, err = command.Wait()
	users := waitForOthers(dir, signals, say)
	stopCtx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	err = errors.Join(err, s.Stop(stopCtx))
	if users != nil {
		err = errors.Join(err, users.Close())
	}
	return code, err
}

// startServer starts the server. It retries while another process owns the directory: either that process serves, and
// the command joins it, or it releases the directory. The server is nil if the command has ended meanwhile.
func startServer(ctx context.Context, o *options.Options, log *slog.Logger, c *child.Child) (*server.Server, error) {
	for pause := lookEvery; ; pause = min(2*pause, pauseMost) {
		s, err := server.Start(ctx, o, log)
		if !errors.Is(err, identity.ErrInUse) {
			return s, err
		}
		select {
		case <-c.Done():
			return nil, nil
		case <-time.After(pause):
		}
	}
}

// waitForOthers waits until all users have left, and returns the locked file. If a signal comes first, it returns
// nil.
func waitForOthers(dir string, signals <-chan os.Signal, say func(string)) *os.File {
	// Signals from before were meant for the command.
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
		users = []string{"others"} // the list does not name them
	}
	return fmt.Sprintf("other commands still use the server of this one: waiting for %s (interrupt to stop it)", strings.Join(users, ", "))
}

// start starts this process's command line again, as a user of the server that this process starts. The command gets
// the signals.
func start(dir string, signals <-chan os.Signal) (*child.Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), onlyVariable+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c, err := child.Start(cmd, signals)
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	return c, nil
}

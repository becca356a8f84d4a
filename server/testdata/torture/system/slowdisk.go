//go:build linux

package system

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// diskEnv marks a process that shall run its arguments as a program whose syncs are delayed.
const diskEnv = "TORTURE_SLOW_DISK"

// diskSocket is the descriptor at which such a process hands over the listener of its filter.
const diskSocket = 3

// Disk delays each fsync and fdatasync of a program. The kernel asks here before it makes one (seccomp's user
// notification), so that neither rights nor a file system of its own are needed.
type Disk struct{ delay, delayed atomic.Int64 }

// Delayed is how many syncs were.
func (d *Disk) Delayed() int { return int(d.delayed.Load()) }

// Slow sets how long each further sync takes at least.
func (d *Disk) Slow(delay time.Duration) { d.delay.Store(int64(delay)) }

// notification and response are the kernel's struct seccomp_notif and struct seccomp_notif_resp.
type notification struct {
	ID         uint64
	PID, Flags uint32
	Call       int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

type response struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// goOn is SECCOMP_USER_NOTIF_FLAG_CONTINUE: the call is made.
const goOn = 1

// serve answers the filter of a program until that has ended.
func (d *Disk) serve(socket *os.File) {
	listener, ok := receive(socket)
	_ = socket.Close()
	if !ok {
		return // whoever waits for the program is told of its end
	}
	defer unix.Close(listener)
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents != 0 {
				return
			}
			continue
		}
		var n notification
		if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			continue // the caller was killed meanwhile
		}
		delay := time.Duration(d.delay.Load())
		if delay > 0 {
			d.delayed.Add(1)
		}
		time.AfterFunc(delay, func() {
			// Nobody may wait any more.
			_ = control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&response{ID: n.ID, Flags: goOn}))
		})
	}
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// runSlowly becomes the program that args name, after its filter's listener has been sent to the parent.
func runSlowly(args []string) error {
	// A filter is the thread's, and what it executes inherits it.
	runtime.LockOSThread()
	listener, err := installFilter()
	if err != nil {
		return fmt.Errorf("install the filter of a slow disk: %w", err)
	}
	if err := unix.Sendmsg(diskSocket, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("send the listener of a slow disk: %w", err)
	}
	unix.CloseOnExec(listener)
	unix.CloseOnExec(diskSocket)
	if err := os.Unsetenv(diskEnv); err != nil {
		return err
	}
	return syscall.Exec(args[0], args, os.Environ())
}

func installFilter() (listener int, err error) {
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	equal := func(call uint32, then, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: then, Jf: otherwise}
	}
	filter := []unix.SockFilter{
		statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0), // the number of the call
		equal(unix.SYS_FSYNC, 1, 0),
		equal(unix.SYS_FDATASYNC, 0, 1),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_USER_NOTIF),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// Only a fatal signal may end the wait of a call: it would be made anew after any other.
	flags := unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// socketPair is what a program hands its listener over by.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make sockets for the listener of a slow disk: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs"), nil
}

// receive takes the listener of a program that runs runSlowly. There is none if that ended before.
func receive(socket *os.File) (listener int, ok bool) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return 0, false
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return 0, false
	}
	listeners, err := unix.ParseUnixRights(&messages[0])
	return listeners[0], err == nil
}

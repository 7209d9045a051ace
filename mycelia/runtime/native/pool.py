"""The thread pool in LLVM IR: workers claim the chunks of one job at a time, over pthread_create and futex.

The pool is one block of zeroed memory (`BYTES`, laid out by `FIELDS`), so that a process after fork starts
from a zeroed block and nothing else needs a reset. Its heart is the ticket: the job's epoch in the upper
half, the next chunk to claim in the lower.

- Publish: write function, arguments and number of chunks, then the ticket (epoch + 1, 0), then wake workers
  that sleep.
- Claim: read the ticket, then the job, then compare-and-swap the ticket to one chunk more. It succeeds only
  if the job that was read is still the one on offer, so a worker that slept through ten jobs can do no harm.
- Close: the publisher swaps in (epoch, all ones), so that nothing more is claimed, and learns how many chunks
  were. It waits until as many are done. A status other than zero stops further claims the same way.

A worker spins while a plan runs (waking one costs about 0.3 ms), a little between plans, and sleeps
otherwise. A preempted worker still holds its chunk; when the publisher waits for more than four chunk times
it sends the workers to sleep and runs alone for a while, longer each time that happens again.
"""

from __future__ import annotations

BYTES = 4096

# Offsets within the block; what different threads write lies on different cache lines.
FIELDS = {
    "ticket": 0,
    "done": 64,
    "sleepers": 128,
    "active": 132,
    "function": 192,
    "arguments": 200,
    "total": 208,
    "status": 216,
    "owner": 256,
    "started": 260,
    "stop": 264,
    "failed": 268,
    "alone_until": 320,
    "alone_for": 328,
    "waits": 336,
    "helped": 384,
}

# Nanoseconds.
SPIN_IN_PLAN = 2_000_000
SPIN_BETWEEN_PLANS = 50_000
ALONE_FIRST = 20_000_000
ALONE_LONGEST = 640_000_000
SLACK = 50_000

_TEXT = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i64 @now() {
  %time = alloca { i64, i64 }
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %ns = add i64 %scaled, %rest
  ret i64 %ns
}

; Sleeps as long as the epoch is the one given.
define internal void @sleep(ptr %pool, i32 %epoch) {
  %word = getelementptr i8, ptr %pool, i64 4
  %sleepers = getelementptr i8, ptr %pool, i64 {sleepers}
  %number = load i64, ptr @FUTEX
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %ignored = call i64 (i64, ...) @syscall(i64 %number, ptr %word, i64 128, i32 %epoch, ptr null, ptr null,
    i64 0)
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  ret void
}

define internal void @wake(ptr %pool) {
  %sleepers.at = getelementptr i8, ptr %pool, i64 {sleepers}
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %none = icmp eq i32 %sleepers, 0
  br i1 %none, label %out, label %some
some:
  %word = getelementptr i8, ptr %pool, i64 4
  %number = load i64, ptr @FUTEX
  %ignored = call i64 (i64, ...) @syscall(i64 %number, ptr %word, i64 129, i64 2147483647, ptr null,
    ptr null, i64 0)
  br label %out
out:
  ret void
}

; Claims one chunk of the job on offer and runs it. Returns 0 when there was nothing to claim, else 1.
define internal i1 @claim(ptr %pool) {
entry:
  %status.at = getelementptr i8, ptr %pool, i64 {status}
  %function.at = getelementptr i8, ptr %pool, i64 {function}
  %arguments.at = getelementptr i8, ptr %pool, i64 {arguments}
  %total.at = getelementptr i8, ptr %pool, i64 {total}
  %done.at = getelementptr i8, ptr %pool, i64 {done}
  br label %look
look:
  %ticket = load atomic i64, ptr %pool seq_cst, align 8
  %chunk = and i64 %ticket, 4294967295
  %total = load atomic i64, ptr %total.at acquire, align 8
  %open = icmp ult i64 %chunk, %total
  br i1 %open, label %healthy, label %nothing
healthy:
  %status = load atomic i64, ptr %status.at acquire, align 8
  %ok = icmp eq i64 %status, 0
  br i1 %ok, label %take, label %nothing
take:
  %function = load atomic ptr, ptr %function.at acquire, align 8
  %arguments = load atomic ptr, ptr %arguments.at acquire, align 8
  %next = add i64 %ticket, 1
  %swap = cmpxchg ptr %pool, i64 %ticket, i64 %next seq_cst seq_cst
  %taken = extractvalue { i64, i1 } %swap, 1
  br i1 %taken, label %run, label %look
run:
  %result = call i32 %function(ptr %arguments, i64 %chunk)
  %bad = icmp ne i32 %result, 0
  br i1 %bad, label %fail, label %finish
fail:
  %wide = sext i32 %result to i64
  %ignored = cmpxchg ptr %status.at, i64 0, i64 %wide seq_cst seq_cst
  br label %finish
finish:
  %before = atomicrmw add ptr %done.at, i64 1 seq_cst
  ret i1 1
nothing:
  ret i1 0
}

define internal ptr @worker(ptr %pool) {
entry:
  %saved = alloca i64
  %spins = alloca i64
  %idle.since = alloca i64
  call void @float_mode(ptr %saved)
  %active.at = getelementptr i8, ptr %pool, i64 {active}
  %stop.at = getelementptr i8, ptr %pool, i64 {stop}
  %started.at = getelementptr i8, ptr %pool, i64 {started}
  %helped.at = getelementptr i8, ptr %pool, i64 {helped}
  store i64 0, ptr %spins
  br label %look
look:
  ; The epoch is read before the claim: a job published after a vain claim changes it, and no sleep begins.
  %ticket = load atomic i64, ptr %pool seq_cst, align 8
  %worked = call i1 @claim(ptr %pool)
  br i1 %worked, label %helped, label %idle
helped:
  %helped.before = atomicrmw add ptr %helped.at, i64 1 monotonic
  br label %fresh
fresh:
  store i64 0, ptr %spins
  br label %look
idle:
  %stop = load atomic i32, ptr %stop.at acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %spin
spin:
  call void @pause()
  %n = load i64, ptr %spins
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %spins
  %low = and i64 %n, 31
  %timed = icmp eq i64 %low, 0
  br i1 %timed, label %clock, label %look
clock:
  %time = call i64 @now()
  %first = icmp eq i64 %n, 0
  br i1 %first, label %begin, label %judge
begin:
  store i64 %time, ptr %idle.since
  br label %look
judge:
  %since = load i64, ptr %idle.since
  %idle.for = sub i64 %time, %since
  %active = load atomic i32, ptr %active.at acquire, align 4
  %busy = icmp eq i32 %active, 1
  %patience = select i1 %busy, i64 {SPIN_IN_PLAN}, i64 {SPIN_BETWEEN_PLANS}
  %tired = icmp sgt i64 %idle.for, %patience
  br i1 %tired, label %rest, label %look
rest:
  %high = lshr i64 %ticket, 32
  %epoch = trunc i64 %high to i32
  call void @sleep(ptr %pool, i32 %epoch)
  br label %fresh
leave:
  %before = atomicrmw sub ptr %started.at, i32 1 seq_cst
  ret ptr null
}

; Starts workers until there are %wanted. Signals are for Python's threads: workers block them all.
define internal void @start_workers(ptr %pool, i32 %wanted) {
entry:
  %thread = alloca i64
  %everything = alloca [128 x i8]
  %mask = alloca [128 x i8]
  %started.at = getelementptr i8, ptr %pool, i64 {started}
  %failed.at = getelementptr i8, ptr %pool, i64 {failed}
  call void @llvm.memset.p0.i64(ptr %everything, i8 -1, i64 128, i1 false)
  br label %check
check:
  %started = load atomic i32, ptr %started.at acquire, align 4
  %failed = load i32, ptr %failed.at
  %enough = icmp sge i32 %started, %wanted
  %hopeless = icmp ne i32 %failed, 0
  %stop = or i1 %enough, %hopeless
  br i1 %stop, label %out, label %start
start:
  %ignored = call i32 @pthread_sigmask(i32 2, ptr %everything, ptr %mask)
  %before = atomicrmw add ptr %started.at, i32 1 seq_cst
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %pool)
  %ignored2 = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null)
  %bad = icmp ne i32 %error, 0
  br i1 %bad, label %fail, label %detach
detach:
  %id = load i64, ptr %thread
  %ignored3 = call i32 @pthread_detach(i64 %id)
  br label %check
fail:
  %before2 = atomicrmw sub ptr %started.at, i32 1 seq_cst
  store i32 1, ptr %failed.at
  br label %out
out:
  ret void
}

; Takes the pool for one plan: 1, or 0 when another plan has it. Starts workers that are missing.
define internal i1 @take_pool(ptr %pool, i64 %threads) {
  %owner.at = getelementptr i8, ptr %pool, i64 {owner}
  %swap = cmpxchg ptr %owner.at, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %swap, 1
  br i1 %mine, label %start, label %out
start:
  %wide = sub i64 %threads, 1
  %wanted = trunc i64 %wide to i32
  call void @start_workers(ptr %pool, i32 %wanted)
  br label %out
out:
  ret i1 %mine
}

define internal void @give_pool(ptr %pool) {
  %owner.at = getelementptr i8, ptr %pool, i64 {owner}
  %active.at = getelementptr i8, ptr %pool, i64 {active}
  store atomic i32 0, ptr %active.at release, align 4
  store atomic i32 0, ptr %owner.at seq_cst, align 4
  ret void
}

; Ends all workers and waits for them. A plan that uses the pool goes on: a worker leaves when it finds
; nothing to claim, and the plan's own thread does what is left.
define void @stop_workers(ptr %pool) {
entry:
  %stop.at = getelementptr i8, ptr %pool, i64 {stop}
  %started.at = getelementptr i8, ptr %pool, i64 {started}
  store atomic i32 1, ptr %stop.at seq_cst, align 4
  br label %again
again:
  %epoch = atomicrmw add ptr %pool, i64 4294967296 seq_cst
  call void @wake(ptr %pool)
  %ignored = call i32 @sched_yield()
  %started = load atomic i32, ptr %started.at seq_cst, align 4
  %alive = icmp sgt i32 %started, 0
  br i1 %alive, label %again, label %out
out:
  store atomic i32 0, ptr %stop.at seq_cst, align 4
  %failed.at = getelementptr i8, ptr %pool, i64 {failed}
  store i32 0, ptr %failed.at
  ret void
}

; Runs the chunks of one job with the workers' help and returns its status. The caller owns the pool. %call is
; asked now and then
; (see @attend) whether to go on.
define internal i64 @parallel(ptr %pool, ptr %function, ptr %arguments, i64 %chunks, ptr %call) {
entry:
  %mine = alloca i64
  %spins = alloca i64
  %status.at = getelementptr i8, ptr %pool, i64 {status}
  %function.at = getelementptr i8, ptr %pool, i64 {function}
  %arguments.at = getelementptr i8, ptr %pool, i64 {arguments}
  %total.at = getelementptr i8, ptr %pool, i64 {total}
  %done.at = getelementptr i8, ptr %pool, i64 {done}
  %active.at = getelementptr i8, ptr %pool, i64 {active}
  %until.at = getelementptr i8, ptr %pool, i64 {alone_until}
  %for.at = getelementptr i8, ptr %pool, i64 {alone_for}
  %waits.at = getelementptr i8, ptr %pool, i64 {waits}
  ; Closed before it is rewritten: the ticket of a fresh block would be open.
  %old = atomicrmw or ptr %pool, i64 4294967295 seq_cst
  store atomic i32 1, ptr %active.at release, align 4
  store atomic ptr %function, ptr %function.at release, align 8
  store atomic ptr %arguments, ptr %arguments.at release, align 8
  store atomic i64 %chunks, ptr %total.at release, align 8
  store atomic i64 0, ptr %status.at release, align 8
  store atomic i64 0, ptr %done.at release, align 8
  %old.epoch = lshr i64 %old, 32
  %epoch = add i64 %old.epoch, 1
  %ticket = shl i64 %epoch, 32
  store atomic i64 %ticket, ptr %pool seq_cst, align 8
  call void @wake(ptr %pool)
  store i64 0, ptr %mine
  store i64 0, ptr %spins
  %begin = call i64 @now()
  br label %work
work:
  %worked = call i1 @claim(ptr %pool)
  br i1 %worked, label %count, label %close
count:
  %count.before = load i64, ptr %mine
  %count.now = add i64 %count.before, 1
  store i64 %count.now, ptr %mine
  %stop = call i64 @attend(ptr %call)
  %go = icmp eq i64 %stop, 0
  br i1 %go, label %work, label %cancel
cancel:
  %ignored = cmpxchg ptr %status.at, i64 0, i64 %stop seq_cst seq_cst
  br label %close
close:
  %closed = or i64 %ticket, 4294967295
  %last = atomicrmw xchg ptr %pool, i64 %closed seq_cst
  %claimed = and i64 %last, 4294967295
  %end = call i64 @now()
  br label %join
join:
  %done = load atomic i64, ptr %done.at seq_cst, align 8
  %all = icmp eq i64 %done, %claimed
  br i1 %all, label %judge, label %wait
wait:
  call void @pause()
  %n = load i64, ptr %spins
  %n1 = add i64 %n, 1
  store i64 %n1, ptr %spins
  %low = and i64 %n1, 255
  %timed = icmp eq i64 %low, 0
  br i1 %timed, label %yield, label %join
yield:
  ; The worker may wait for this very core.
  %ignored2 = call i32 @sched_yield()
  %stop2 = call i64 @attend(ptr %call)
  %go2 = icmp eq i64 %stop2, 0
  br i1 %go2, label %join, label %cancel2
cancel2:
  %ignored3 = cmpxchg ptr %status.at, i64 0, i64 %stop2 seq_cst seq_cst
  br label %join
judge:
  ; The mean time of a chunk, as this thread ran them, against the time that it waited for the others'.
  %joined = call i64 @now()
  %waited = sub i64 %joined, %end
  %worked.for = sub i64 %end, %begin
  %mine.all = load i64, ptr %mine
  %divisor = add i64 %mine.all, 1
  %chunk.time = udiv i64 %worked.for, %divisor
  %four = mul i64 %chunk.time, 4
  %limit = add i64 %four, {SLACK}
  %late = icmp sgt i64 %waited, %limit
  br i1 %late, label %alone, label %out
alone:
  store atomic i32 2, ptr %active.at release, align 4
  %count.waits = load i64, ptr %waits.at
  %count.waits1 = add i64 %count.waits, 1
  store i64 %count.waits1, ptr %waits.at
  %until.old = load i64, ptr %until.at
  %for.old = load i64, ptr %for.at
  %peace = sub i64 %joined, %until.old
  %enough = shl i64 %for.old, 2
  %again = icmp slt i64 %peace, %enough
  %double = shl i64 %for.old, 1
  %capped = call i64 @llvm.smin.i64(i64 %double, i64 {ALONE_LONGEST})
  %longer = call i64 @llvm.smax.i64(i64 %capped, i64 {ALONE_FIRST})
  %for.new = select i1 %again, i64 %longer, i64 {ALONE_FIRST}
  %until.new = add i64 %joined, %for.new
  store i64 %for.new, ptr %for.at
  store i64 %until.new, ptr %until.at
  br label %out
out:
  %status = load atomic i64, ptr %status.at seq_cst, align 8
  ret i64 %status
}

; Whether a plan that owns the pool is to run alone for now.
define internal i1 @is_alone(ptr %pool) {
  %until.at = getelementptr i8, ptr %pool, i64 {alone_until}
  %until = load i64, ptr %until.at
  %never = icmp eq i64 %until, 0
  br i1 %never, label %out, label %look
look:
  %time = call i64 @now()
  %alone = icmp slt i64 %time, %until
  br label %out
out:
  %result = phi i1 [0, %0], [%alone, %look]
  ret i1 %result
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""


def text() -> str:
    values = {
        **FIELDS,
        "SPIN_IN_PLAN": SPIN_IN_PLAN,
        "SPIN_BETWEEN_PLANS": SPIN_BETWEEN_PLANS,
        "ALONE_FIRST": ALONE_FIRST,
        "ALONE_LONGEST": ALONE_LONGEST,
        "SLACK": SLACK,
    }
    result = _TEXT
    for name, value in values.items():
        result = result.replace("{" + name + "}", str(value))
    return result

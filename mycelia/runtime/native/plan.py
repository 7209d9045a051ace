"""The plan walker in LLVM IR, and its entry: a METH_FASTCALL function of CPython, so that a launch costs no
ctypes call.

A plan lives in one block of memory that begins with a header of 8-byte words (`HEADER`), followed by the
instructions, the relocations and the argument words. The entry reads the slots' addresses from its arguments,
puts them into the argument words as the relocations say, and walks the instructions. A second launch of the
same plan while one is under way gets a copy of the words.

An instruction is ``{ptr function, ptr args, i64 chunks, i64 node}``. Chunks of 0 mark a call into Python:
function is a callable, and it gets the address of the argument words.
"""

from __future__ import annotations

HEADER = (
    "instructions",
    "instruction_table",
    "relocations",
    "relocation_table",
    "words",
    "word_table",
    "slots",
    "flags",
    "runtime",
    "busy",
    "timing",
    "hook",
)
RELEASE_GIL, PARALLEL = 1, 2

# The runtime's own block, shared by all plans.
RUNTIME = ("pool", "threads", "none", "plan_error")

EXCEPTION = 1 << 40  # a status beyond any kernel's: a Python exception is set
ATTEND_EVERY = 50_000_000  # nanoseconds between looks for Ctrl-C

# What a running call knows, on its stack.
_CALL = ("thread_state", "float_mode", "attend_at", "pool", "runtime", "release")

_TEXT = """
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare ptr @PyErr_Occurred()
declare void @PyErr_SetObject(ptr, ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Format(ptr, ptr, ...)
declare ptr @Py_BuildValue(ptr, ...)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyByteArray_AsString(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

@status.format = private unnamed_addr constant [5 x i8] c"(LL)\\00"
@slots.format = private unnamed_addr constant [53 x i8]
    c"the plan takes %lld slot addresses. Received: %lld\\00\\00\\00"

; From native code into Python: the caller's float mode, then the GIL if this call gave it up. The pool is
; free meanwhile.
define internal void @enter_python(ptr %call) {
entry:
  %float.at = getelementptr i8, ptr %call, i64 {call.float_mode}
  call void @float_mode_back(ptr %float.at)
  %state = load ptr, ptr %call
  %held = icmp eq ptr %state, null
  br i1 %held, label %out, label %restore
restore:
  call void @PyEval_RestoreThread(ptr %state)
  store ptr null, ptr %call
  br label %out
out:
  ret void
}

define internal void @leave_python(ptr %call) {
entry:
  %release.at = getelementptr i8, ptr %call, i64 {call.release}
  %release = load i64, ptr %release.at
  %hold = icmp eq i64 %release, 0
  br i1 %hold, label %float, label %save
save:
  %state = call ptr @PyEval_SaveThread()
  store ptr %state, ptr %call
  br label %float
float:
  %float.at = getelementptr i8, ptr %call, i64 {call.float_mode}
  call void @float_mode(ptr %float.at)
  ret void
}

; Lets Python run its signal handlers, now and then. A status other than 0: stop.
define internal i64 @attend(ptr %call) {
entry:
  %state = load ptr, ptr %call
  %held = icmp eq ptr %state, null
  br i1 %held, label %fine, label %look
look:
  %time = call i64 @now()
  %at.at = getelementptr i8, ptr %call, i64 {call.attend_at}
  %at = load i64, ptr %at.at
  %early = icmp slt i64 %time, %at
  br i1 %early, label %fine, label %check
check:
  call void @enter_python(ptr %call)
  %raised = call i32 @PyErr_CheckSignals()
  call void @leave_python(ptr %call)
  %time2 = call i64 @now()
  %next = add i64 %time2, {ATTEND_EVERY}
  store i64 %next, ptr %at.at
  %bad = icmp ne i32 %raised, 0
  br i1 %bad, label %stop, label %fine
stop:
  ret i64 {EXCEPTION}
fine:
  ret i64 0
}

define internal void @drop_pool(ptr %call) {
entry:
  %pool.at = getelementptr i8, ptr %call, i64 {call.pool}
  %pool = load ptr, ptr %pool.at
  %none = icmp eq ptr %pool, null
  br i1 %none, label %out, label %give
give:
  store ptr null, ptr %pool.at
  call void @give_pool(ptr %pool)
  br label %out
out:
  ret void
}

define internal void @get_pool(ptr %call) {
entry:
  %runtime.at = getelementptr i8, ptr %call, i64 {call.runtime}
  %runtime = load ptr, ptr %runtime.at
  %pool = load ptr, ptr %runtime
  %threads.at = getelementptr i8, ptr %runtime, i64 {runtime.threads}
  %threads = load atomic i64, ptr %threads.at monotonic, align 8
  %many = icmp sgt i64 %threads, 1
  br i1 %many, label %take, label %out
take:
  %mine = call i1 @take_pool(ptr %pool, i64 %threads)
  br i1 %mine, label %keep, label %out
keep:
  %pool.at = getelementptr i8, ptr %call, i64 {call.pool}
  store ptr %pool, ptr %pool.at
  br label %out
out:
  ret void
}

; Calls a Python function with the address of the argument words; it may launch plans, so the pool is given
; back meanwhile.
define internal i64 @host_call(ptr %call, ptr %function, ptr %args, i1 %pooled) {
entry:
  call void @drop_pool(ptr %call)
  call void @enter_python(ptr %call)
  %address = call ptr @PyLong_FromVoidPtr(ptr %args)
  %failed = icmp eq ptr %address, null
  br i1 %failed, label %back, label %go
go:
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr %address, ptr null)
  call void @Py_DecRef(ptr %address)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %back, label %release
release:
  call void @Py_DecRef(ptr %result)
  br label %back
back:
  %status = phi i64 [{EXCEPTION}, %entry], [{EXCEPTION}, %go], [0, %release]
  call void @leave_python(ptr %call)
  br i1 %pooled, label %pool, label %out
pool:
  call void @get_pool(ptr %call)
  br label %out
out:
  ret i64 %status
}

; Calls the hook with (instruction index, node) after an instruction.
define internal i64 @hook_call(ptr %call, ptr %hook, i64 %index, i64 %node) {
entry:
  call void @enter_python(ptr %call)
  %a = call ptr @PyLong_FromLongLong(i64 %index)
  %b = call ptr @PyLong_FromLongLong(i64 %node)
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %hook, ptr %a, ptr %b, ptr null)
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %b)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %back, label %release
release:
  call void @Py_DecRef(ptr %result)
  br label %back
back:
  %status = phi i64 [{EXCEPTION}, %entry], [0, %release]
  call void @leave_python(ptr %call)
  ret i64 %status
}
declare ptr @PyLong_FromLongLong(i64)

; The chunks of one instruction on this thread alone.
define internal i64 @serial(ptr %function, ptr %args, i64 %chunks, ptr %call) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %attend]
  %result = call i32 %function(ptr %args, i64 %i)
  %bad = icmp ne i32 %result, 0
  br i1 %bad, label %fail, label %attend
attend:
  %i1 = add i64 %i, 1
  %stop = call i64 @attend(ptr %call)
  %more = icmp slt i64 %i1, %chunks
  %go = icmp eq i64 %stop, 0
  %again = and i1 %more, %go
  br i1 %again, label %loop, label %out
out:
  ret i64 %stop
fail:
  %wide = sext i32 %result to i64
  ret i64 %wide
}

; Walks the instructions. Returns the status; %node.at gets the node that stopped the plan.
define internal i64 @walk(ptr %plan, i64 %delta, ptr %call, i1 %pooled, ptr %node.at) {
entry:
  %n = load i64, ptr %plan
  %table.at = getelementptr i8, ptr %plan, i64 {header.instruction_table}
  %table = load ptr, ptr %table.at
  %timing.at = getelementptr i8, ptr %plan, i64 {header.timing}
  %timing = load ptr, ptr %timing.at
  %timed = icmp ne ptr %timing, null
  %hook.at = getelementptr i8, ptr %plan, i64 {header.hook}
  %hook = load ptr, ptr %hook.at
  %hooked = icmp ne ptr %hook, null
  %pool.at = getelementptr i8, ptr %call, i64 {call.pool}
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %good
loop:
  %i = phi i64 [0, %entry], [%i1, %next]
  %instruction = getelementptr { ptr, ptr, i64, i64 }, ptr %table, i64 %i
  %function = load ptr, ptr %instruction
  %args.at = getelementptr i8, ptr %instruction, i64 8
  %args.home = load ptr, ptr %args.at
  %args = getelementptr i8, ptr %args.home, i64 %delta
  %chunks.at = getelementptr i8, ptr %instruction, i64 16
  %chunks = load i64, ptr %chunks.at
  br i1 %timed, label %begin, label %kind
begin:
  %t0 = call i64 @now()
  %t0.index = shl i64 %i, 1
  %t0.at = getelementptr i64, ptr %timing, i64 %t0.index
  store i64 %t0, ptr %t0.at
  br label %kind
kind:
  %is.host = icmp eq i64 %chunks, 0
  br i1 %is.host, label %host, label %native
host:
  %host.status = call i64 @host_call(ptr %call, ptr %function, ptr %args, i1 %pooled)
  br label %ran
native:
  %single = icmp eq i64 %chunks, 1
  br i1 %single, label %alone, label %several
several:
  %pool = load ptr, ptr %pool.at
  %no.pool = icmp eq ptr %pool, null
  br i1 %no.pool, label %alone, label %ask
ask:
  %for.now = call i1 @is_alone(ptr %pool)
  br i1 %for.now, label %alone, label %together
together:
  %pool.status = call i64 @parallel(ptr %pool, ptr %function, ptr %args, i64 %chunks, ptr %call)
  br label %ran
alone:
  %alone.status = call i64 @serial(ptr %function, ptr %args, i64 %chunks, ptr %call)
  br label %ran
ran:
  %status = phi i64 [%host.status, %host], [%pool.status, %together], [%alone.status, %alone]
  br i1 %timed, label %finish, label %ended
finish:
  %t1 = call i64 @now()
  %t1.index0 = shl i64 %i, 1
  %t1.index = or i64 %t1.index0, 1
  %t1.at = getelementptr i64, ptr %timing, i64 %t1.index
  store i64 %t1, ptr %t1.at
  br label %ended
ended:
  %ok = icmp eq i64 %status, 0
  br i1 %ok, label %hook.maybe, label %stop
hook.maybe:
  br i1 %hooked, label %hook.do, label %next
hook.do:
  %hook.node.at = getelementptr i8, ptr %instruction, i64 24
  %hook.node = load i64, ptr %hook.node.at
  %hook.status = call i64 @hook_call(ptr %call, ptr %hook, i64 %i, i64 %hook.node)
  %hook.ok = icmp eq i64 %hook.status, 0
  br i1 %hook.ok, label %next, label %stop
next:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %good
good:
  ret i64 0
stop:
  %final = phi i64 [%status, %ended], [%hook.status, %hook.do]
  %node.from = getelementptr i8, ptr %instruction, i64 24
  %node = load i64, ptr %node.from
  store i64 %node, ptr %node.at
  ret i64 %final
}

; launch(*slot_addresses): METH_FASTCALL. self is a tuple whose first item is the bytearray that holds the
; plan.
define ptr @launch(ptr %self, ptr %arguments, i64 %count) {
entry:
  %call = alloca [{call.words} x i64], align 16
  %node.at = alloca i64
  %holder = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %plan = call ptr @PyByteArray_AsString(ptr %holder)
  %slots.at = getelementptr i8, ptr %plan, i64 {header.slots}
  %slots = load i64, ptr %slots.at
  %right = icmp eq i64 %slots, %count
  br i1 %right, label %begin, label %wrong
wrong:
  %type.error.at = load ptr, ptr @PyExc_TypeError
  %ignored = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %type.error.at, ptr @slots.format, i64 %slots,
    i64 %count)
  ret ptr null
begin:
  %values = alloca i64, i64 %slots
  %any = icmp sgt i64 %slots, 0
  br i1 %any, label %read, label %claim
read:
  %r = phi i64 [0, %begin], [%r1, %read.next]
  %object.at = getelementptr ptr, ptr %arguments, i64 %r
  %object = load ptr, ptr %object.at
  %value = call i64 @PyLong_AsLongLong(ptr %object)
  %value.at = getelementptr i64, ptr %values, i64 %r
  store i64 %value, ptr %value.at
  %suspect = icmp eq i64 %value, -1
  br i1 %suspect, label %read.error, label %read.next
read.error:
  %error = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %error, null
  br i1 %clean, label %read.next, label %bad.slot
bad.slot:
  ret ptr null
read.next:
  %r1 = add i64 %r, 1
  %r.more = icmp slt i64 %r1, %slots
  br i1 %r.more, label %read, label %claim

claim:
  %busy.at = getelementptr i8, ptr %plan, i64 {header.busy}
  %words.at = getelementptr i8, ptr %plan, i64 {header.word_table}
  %home = load ptr, ptr %words.at
  %swap = cmpxchg ptr %busy.at, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %relocate, label %copy
copy:
  %nwords.at = getelementptr i8, ptr %plan, i64 {header.words}
  %nwords = load i64, ptr %nwords.at
  %nbytes = shl i64 %nwords, 3
  %nbytes1 = add i64 %nbytes, 8
  %fresh = call ptr @malloc(i64 %nbytes1)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %no.memory, label %copy.words
no.memory:
  %null = call ptr @PyErr_NoMemory()
  ret ptr null
copy.words:
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %home, i64 %nbytes, i1 false)
  br label %relocate
relocate:
  %words = phi ptr [%home, %claim], [%fresh, %copy.words]
  %home.int = ptrtoint ptr %home to i64
  %words.int = ptrtoint ptr %words to i64
  %delta = sub i64 %words.int, %home.int
  %nreloc.at = getelementptr i8, ptr %plan, i64 {header.relocations}
  %nreloc = load i64, ptr %nreloc.at
  %reloc.at = getelementptr i8, ptr %plan, i64 {header.relocation_table}
  %reloc = load ptr, ptr %reloc.at
  %reloc.any = icmp sgt i64 %nreloc, 0
  br i1 %reloc.any, label %patch, label %prepare
patch:
  %p = phi i64 [0, %relocate], [%p1, %patch]
  %entry.at = getelementptr { i64, i64, i64 }, ptr %reloc, i64 %p
  %word = load i64, ptr %entry.at
  %slot.at = getelementptr i8, ptr %entry.at, i64 8
  %slot = load i64, ptr %slot.at
  %offset.at = getelementptr i8, ptr %entry.at, i64 16
  %offset = load i64, ptr %offset.at
  %base.at = getelementptr i64, ptr %values, i64 %slot
  %base = load i64, ptr %base.at
  %address = add i64 %base, %offset
  %target = getelementptr i64, ptr %words, i64 %word
  store i64 %address, ptr %target
  %p1 = add i64 %p, 1
  %p.more = icmp slt i64 %p1, %nreloc
  br i1 %p.more, label %patch, label %prepare

prepare:
  %flags.at = getelementptr i8, ptr %plan, i64 {header.flags}
  %flags = load i64, ptr %flags.at
  %release = and i64 %flags, {RELEASE_GIL}
  %parallel = and i64 %flags, {PARALLEL}
  %pooled = icmp ne i64 %parallel, 0
  %runtime.from = getelementptr i8, ptr %plan, i64 {header.runtime}
  %runtime = load ptr, ptr %runtime.from
  %runtime.at = getelementptr i8, ptr %call, i64 {call.runtime}
  store ptr %runtime, ptr %runtime.at
  %release.at = getelementptr i8, ptr %call, i64 {call.release}
  store i64 %release, ptr %release.at
  %pool.at = getelementptr i8, ptr %call, i64 {call.pool}
  store ptr null, ptr %pool.at
  store ptr null, ptr %call
  %releases = icmp ne i64 %release, 0
  br i1 %releases, label %clock, label %start
clock:
  %time = call i64 @now()
  %first = add i64 %time, {ATTEND_EVERY}
  %attend.at = getelementptr i8, ptr %call, i64 {call.attend_at}
  store i64 %first, ptr %attend.at
  br label %start
start:
  call void @leave_python(ptr %call)
  br i1 %pooled, label %pool, label %go
pool:
  call void @get_pool(ptr %call)
  br label %go
go:
  %status = call i64 @walk(ptr %plan, i64 %delta, ptr %call, i1 %pooled, ptr %node.at)
  call void @drop_pool(ptr %call)
  call void @enter_python(ptr %call)
  br i1 %mine, label %unlock, label %drop
unlock:
  store atomic i64 0, ptr %busy.at seq_cst, align 8
  br label %result
drop:
  call void @free(ptr %words)
  br label %result
result:
  %good = icmp eq i64 %status, 0
  br i1 %good, label %none, label %bad
none:
  %none.at = getelementptr i8, ptr %runtime, i64 {runtime.none}
  %none.object = load ptr, ptr %none.at
  call void @Py_IncRef(ptr %none.object)
  ret ptr %none.object
bad:
  %set = icmp eq i64 %status, {EXCEPTION}
  br i1 %set, label %raise, label %plan.error
plan.error:
  %node = load i64, ptr %node.at
  %details = call ptr (ptr, ...) @Py_BuildValue(ptr @status.format, i64 %status, i64 %node)
  %no.details = icmp eq ptr %details, null
  br i1 %no.details, label %raise, label %set.error
set.error:
  %error.at = getelementptr i8, ptr %runtime, i64 {runtime.plan_error}
  %error.type = load ptr, ptr %error.at
  call void @PyErr_SetObject(ptr %error.type, ptr %details)
  call void @Py_DecRef(ptr %details)
  br label %raise
raise:
  ret ptr null
}

@PyExc_TypeError = external global ptr
"""


def text() -> str:
    values: dict[str, int] = {
        "RELEASE_GIL": RELEASE_GIL,
        "PARALLEL": PARALLEL,
        "EXCEPTION": EXCEPTION,
        "ATTEND_EVERY": ATTEND_EVERY,
        "call.words": len(_CALL),
    }
    for prefix, names in (("header", HEADER), ("runtime", RUNTIME), ("call", _CALL)):
        values.update({f"{prefix}.{name}": 8 * i for i, name in enumerate(names)})
    result = _TEXT
    for name, value in values.items():
        result = result.replace("{" + name + "}", str(value))
    return result

#include "tests/emulator/runtime/stream_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/events.hpp"

namespace tutti::emulated {
namespace {

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

/// Those under way.
std::vector<std::shared_ptr<StreamCapture>>& captures() {
  static auto* const all = new std::vector<std::shared_ptr<StreamCapture>>;
  return *all;
}

unsigned long long next_id() {
  static unsigned long long last = 0;
  return ++last;
}

/// What Event::captured points to.
struct CapturedRecord {
  std::weak_ptr<StreamCapture> capture;
  std::vector<GraphNode*> nodes;
};

const CapturedRecord* record_of(const Event& event) { return static_cast<const CapturedRecord*>(event.captured.get()); }

void add_new(std::vector<GraphNode*>& to, const std::vector<GraphNode*>& nodes) {
  for (GraphNode* node : nodes)
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
}

}  // namespace

StreamCapture::StreamCapture(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode)
    : id_(next_id()),
      mode_(mode),
      thread_(std::this_thread::get_id()),
      origin_(origin.get()),
      graph_(std::make_shared<Graph>()) {
  members_[origin.get()] = {origin, {}};
}

std::shared_ptr<StreamCapture> StreamCapture::begin(const std::shared_ptr<Stream>& origin, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(graphs_mutex());
  require(origin->kind() != Stream::Kind::legacy, cudaErrorStreamCaptureUnsupported);
  require(!origin->capture(), cudaErrorIllegalState);
  std::shared_ptr<StreamCapture> capture(new StreamCapture(origin, mode));
  captures().push_back(capture);
  enter_graph(capture->graph_);
  origin->set_capture(capture);
  return capture;
}

cudaGraph_t StreamCapture::end(const Stream& stream) {
  const std::lock_guard lock(graphs_mutex());
  require(mode_ == cudaStreamCaptureModeRelaxed || thread_ == std::this_thread::get_id(),
          cudaErrorStreamCaptureWrongThread);
  if (&stream != origin_) {
    invalidate();
    throw Failure(cudaErrorStreamCaptureUnmatched);
  }
  const std::shared_ptr<StreamCapture> self = shared_from_this();
  const bool all_joined = joined();
  let_streams_go();
  std::erase(captures(), self);
  const cudaError_t trouble = status_ != cudaStreamCaptureStatusActive ? cudaErrorStreamCaptureInvalidated
                              : !all_joined                            ? cudaErrorStreamCaptureUnjoined
                                                                       : cudaSuccess;
  status_ = cudaStreamCaptureStatusNone;
  const auto handle = reinterpret_cast<cudaGraph_t>(graph_.get());
  if (trouble != cudaSuccess) {
    remove_graph(handle);
    graph_.reset();
    throw Failure(trouble);
  }
  return handle;
}

void StreamCapture::let_streams_go() {
  for (const auto& [stream, member] : members_) member.stream->set_capture(nullptr);
}

/// Does everything that streams did last come before what the first stream did last?
bool StreamCapture::joined() const {
  std::set<const GraphNode*> behind;
  std::vector<GraphNode*> open = members_.at(origin_).last;
  while (!open.empty()) {
    GraphNode* const node = open.back();
    open.pop_back();
    if (behind.insert(node).second) open.insert(open.end(), node->before.begin(), node->before.end());
  }
  return std::ranges::all_of(members_, [&](const auto& entry) {
    return std::ranges::all_of(entry.second.last, [&](const GraphNode* node) { return behind.contains(node); });
  });
}

StreamCapture::Member& StreamCapture::member(Stream& stream) {
  Member& found = members_[&stream];
  if (!found.stream) {
    found.stream = stream.shared_from_this();
    stream.set_capture(shared_from_this());
  }
  return found;
}

void StreamCapture::require_active() const { require(active(), cudaErrorStreamCaptureInvalidated); }

void StreamCapture::append_work(Stream& stream, Work work) {
  require_active();
  Member& at = member(stream);
  GraphNode& node = graph_->add(std::move(work), stream.device().index(), at.last);
  at.last = {&node};
}

void StreamCapture::append(Stream& stream, Operation operation) {
  const std::lock_guard lock(graphs_mutex());
  if (const auto* task = std::get_if<Task>(&operation)) {
    invalidate();
    say(fmt::format("{} in a capture, which the stand-in does not have", task->what));
    throw Failure(cudaErrorStreamCaptureUnsupported);
  }
  append_work(stream, std::move(operation));
}

void StreamCapture::append_graph(Stream& stream, const Graph& graph) {
  const std::lock_guard lock(graphs_mutex());
  append_work(stream, graph.clone());
}

void StreamCapture::record(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) {
  const std::lock_guard lock(graphs_mutex());
  if (flags & cudaEventRecordExternal) return append_work(stream, EventRecord{event, 0});
  require_active();
  event->captured = std::make_shared<CapturedRecord>(CapturedRecord{weak_from_this(), member(stream).last});
}

void StreamCapture::await(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) {
  const std::lock_guard lock(graphs_mutex());
  if (flags & cudaEventWaitExternal) return append_work(stream, EventWait{event, 0});
  require_active();
  const CapturedRecord* const record = record_of(*event);
  const auto of = record ? record->capture.lock() : nullptr;
  if (of.get() != this) {
    invalidate();
    if (of && of->status() != cudaStreamCaptureStatusNone) {
      of->invalidate();
      throw Failure(cudaErrorStreamCaptureMerge);
    }
    throw Failure(record ? cudaErrorCapturedEvent : cudaErrorStreamCaptureIsolation);
  }
  add_new(member(stream).last, record->nodes);
}

void StreamCapture::invalidate() {
  const std::lock_guard lock(graphs_mutex());
  if (active()) status_ = cudaStreamCaptureStatusInvalidated;
}

void StreamCapture::set_last(Stream& stream, std::vector<GraphNode*> last) {
  const std::lock_guard lock(graphs_mutex());
  require_active();
  for (const GraphNode* node : last) require(graph_->has(node), cudaErrorInvalidValue);
  member(stream).last = std::move(last);
}

const std::vector<GraphNode*>& StreamCapture::last(Stream& stream) {
  const std::lock_guard lock(graphs_mutex());
  return member(stream).last;
}

bool StreamCapture::forbids_unsafe_calls(cudaStreamCaptureMode mode) const {
  if (mode == cudaStreamCaptureModeRelaxed || mode_ == cudaStreamCaptureModeRelaxed) return false;
  if (thread_ == std::this_thread::get_id()) return true;
  return mode == cudaStreamCaptureModeGlobal && mode_ == cudaStreamCaptureModeGlobal;
}

bool StreamCapture::has_blocking_stream_of(const Device& device) const {
  return std::ranges::any_of(members_, [&](const auto& entry) {
    return &entry.second.stream->device() == &device && entry.second.stream->blocking();
  });
}

std::shared_ptr<StreamCapture> capture_of(const Stream& stream) {
  return std::static_pointer_cast<StreamCapture>(stream.capture());
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(mode_of_thread, mode); }

void refuse_while_capturing() {
  const std::lock_guard lock(graphs_mutex());
  bool forbidden = false;
  for (const auto& capture : captures())
    if (capture->forbids_unsafe_calls(mode_of_thread)) {
      capture->invalidate();
      forbidden = true;
    }
  require(!forbidden, cudaErrorStreamCaptureUnsupported);
}

void refuse_to_join_implicitly(const Stream& stream, bool spoils) {
  if (stream.kind() != Stream::Kind::legacy) return;
  const std::lock_guard lock(graphs_mutex());
  bool joins = false;
  for (const auto& capture : captures())
    if (capture->has_blocking_stream_of(stream.device())) {
      if (spoils) capture->invalidate();
      joins = true;
    }
  require(!joins, cudaErrorStreamCaptureImplicit);
}

void refuse_captured(const Event& event) {
  const std::lock_guard lock(graphs_mutex());
  const CapturedRecord* const record = record_of(event);
  if (!record) return;
  if (const auto capture = record->capture.lock()) capture->invalidate();
  throw Failure(cudaErrorCapturedEvent);
}

bool captured_record(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags) {
  refuse_to_join_implicitly(*stream);
  const std::lock_guard lock(graphs_mutex());
  if (const auto capture = stream->capture()) {
    capture->record(*stream, event, flags);
    return true;
  }
  require(!(flags & cudaEventRecordExternal), cudaErrorInvalidValue);
  event->captured.reset();
  return false;
}

bool captured_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags) {
  refuse_to_join_implicitly(*stream);
  const std::lock_guard lock(graphs_mutex());
  if (const auto capture = stream->capture()) {
    capture->await(*stream, event, flags);
    return true;
  }
  require(!(flags & cudaEventWaitExternal), cudaErrorInvalidValue);
  const CapturedRecord* const record = record_of(*event);
  if (!record) return false;
  const auto capture = record->capture.lock();
  require(capture && capture->status() != cudaStreamCaptureStatusNone, cudaErrorCapturedEvent);
  if (stream->kind() == Stream::Kind::legacy) {
    capture->invalidate();
    throw Failure(cudaErrorStreamCaptureImplicit);
  }
  capture->await(*stream, event, flags);
  return true;
}

}  // namespace tutti::emulated

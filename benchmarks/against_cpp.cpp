// The algorithms of sliding windows, rendered plainly from their descriptions, and timed rounds of evict, insert and
// query. With -DFENCE=true a memory fence stands between rounds, so that none begins before the last one has ended.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

using u64 = std::uint64_t;

struct Sum {
  using In = std::int64_t; using State = std::int64_t;
  static State lift(In x) { return x; }
  static State combine(State a, State b) { return a + b; }
  static double lower(State s) { return static_cast<double>(s); }
};

struct Geomean {
  using In = double;
  struct State { double sum; std::int64_t n; };
  static State lift(In x) { return {std::log(x), 1}; }
  static State combine(State a, State b) { return {a.sum + b.sum, a.n + b.n}; }
  static double lower(State s) { return std::exp(s.sum / static_cast<double>(s.n)); }
};

struct Bloom {
  using In = std::int64_t;
  struct State { u64 words[64]; };
  static u64 mix(u64 w) {
    w = (w ^ (w >> 30)) * 0xBF58476D1CE4E5B9ULL;
    w = (w ^ (w >> 27)) * 0x94D049BB133111EBULL;
    return w ^ (w >> 31);
  }
  static State lift(In x) {
    State s{};
    u64 at = mix(static_cast<u64>(x) ^ 17), step = mix(static_cast<u64>(x) ^ 71) | 1;
    for (int i = 0; i < 4; i++, at += step) s.words[(at & 4095) >> 6] |= u64{1} << (at & 63);
    return s;
  }
  static State combine(const State& a, const State& b) {
    State s;
    for (int i = 0; i < 64; i++) s.words[i] = a.words[i] | b.words[i];
    return s;
  }
  static double lower(const State& s) {
    u64 word = 0;
    for (u64 one : s.words) word ^= one;
    return static_cast<double>(word & 0xFFFF);
  }
};

template <class Op> struct TwoStacks {
  using State = typename Op::State;
  struct Item { State val, agg; };
  std::vector<Item> front, back;
  explicit TwoStacks(std::size_t n) { front.reserve(n + 1); back.reserve(n + 1); }
  void insert(const State& v) { back.push_back({v, back.empty() ? v : Op::combine(back.back().agg, v)}); }
  void evict() {
    if (front.empty())
      while (!back.empty()) {
        State v = back.back().val;
        back.pop_back();
        front.push_back({v, front.empty() ? v : Op::combine(v, front.back().agg)});
      }
    front.pop_back();
  }
  State query() const {
    if (front.empty()) return back.back().agg;
    return back.empty() ? front.back().agg : Op::combine(front.back().agg, back.back().agg);
  }
};

template <class Op> struct TwoStacksLite {
  using State = typename Op::State;
  std::deque<State> q;
  std::size_t b = 0;  // how many lie before the back list
  State aggB{};
  explicit TwoStacksLite(std::size_t) {}
  void insert(const State& v) {
    aggB = q.size() == b ? v : Op::combine(aggB, v);
    q.push_back(v);
  }
  void evict() {
    if (b == 0) {
      auto it = q.end();
      --it;
      while (it != q.begin()) {
        auto next = it--;
        *it = Op::combine(*it, *next);
      }
      b = q.size();
    }
    q.pop_front();
    b--;
  }
  State query() const {
    if (b == 0) return aggB;
    return b == q.size() ? q.front() : Op::combine(q.front(), aggB);
  }
};

template <class Op> struct Daba {
  using State = typename Op::State;
  struct Item { State val, agg; };
  std::deque<Item> q;
  std::size_t F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;  // positions; q[p - F]
  explicit Daba(std::size_t) {}
  void insert(const State& v) {
    q.push_back({v, B == E ? v : Op::combine(q.back().agg, v)});
    E++;
    fixup();
  }
  void evict() { q.pop_front(); F++; fixup(); }
  void fixup() {
    if (F == B) { L = R = A = B = E; return; }
    if (L == B) { L = F; A = E; B = E; }
    if (L == R) { L++; R++; A++; return; }
    Item& left = q[L - F];
    Item& right = q[A - 1 - F];
    left.agg = Op::combine(left.agg, right.agg);
    if (A == B) {
      right.agg = right.val;
    } else {
      left.agg = Op::combine(left.agg, q[A - F].agg);
      right.agg = Op::combine(right.val, q[A - F].agg);
    }
    L++;
    A--;
  }
  State query() const { return B == E ? q.front().agg : Op::combine(q.front().agg, q.back().agg); }
};

template <class Op> struct DabaLite {
  using State = typename Op::State;
  std::deque<State> q;
  std::size_t F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;  // positions; q[p - F]
  State aggRA{}, aggB{};
  explicit DabaLite(std::size_t) {}
  void insert(const State& v) {
    State agg = B == E ? v : Op::combine(aggB, v);
    q.push_back(v);
    E++;
    aggB = agg;
    fixup();
  }
  void evict() { q.pop_front(); F++; fixup(); }
  void fixup() {
    if (F == B) { L = R = A = B = E; return; }
    if (L == B) { L = F; A = E; B = E; aggRA = aggB; }
    if (L == R) { L++; R++; A++; return; }
    q[L - F] = Op::combine(q[L - F], aggRA);
    if (A != B) q[A - 1 - F] = Op::combine(q[A - 1 - F], q[A - F]);
    L++;
    A--;
  }
  State query() const { return B == E ? q.front() : Op::combine(q.front(), aggB); }
};

template <class Op> struct FlatFit {
  using State = typename Op::State;
  struct Item { State agg; std::size_t stop; };  // of the rows from here up to `stop`
  std::vector<Item> ring;
  std::vector<std::size_t> met;
  std::size_t F = 0, E = 0;  // positions; ring[p & (ring.size() - 1)]
  explicit FlatFit(std::size_t) : ring(8) {}
  Item& at(std::size_t p) { return ring[p & (ring.size() - 1)]; }
  void insert(const State& v) {
    if (E - F == ring.size()) {
      std::vector<Item> more(2 * ring.size());
      for (std::size_t p = F; p < E; p++) more[p & (more.size() - 1)] = at(p);
      ring.swap(more);
    }
    at(E) = {v, E + 1};
    E++;
  }
  void evict() { F++; }
  State query() {
    std::size_t p = F;
    while (at(p).stop != E) {
      met.push_back(p);
      p = at(p).stop;
    }
    State agg = at(p).agg;
    while (!met.empty()) {
      Item& item = at(met.back());
      met.pop_back();
      item = {agg = Op::combine(item.agg, agg), E};
    }
    return agg;
  }
};

template <class Op> struct FlatFat {  // State{} is the identity, which empty leaves hold
  using State = typename Op::State;
  std::vector<State> nodes;
  std::size_t leaves, start = 0, rows = 0;
  explicit FlatFat(std::size_t n) : leaves(1) {
    while (leaves < n) leaves *= 2;
    nodes.resize(2 * leaves);
  }
  void put(std::size_t node, const State& v) {
    nodes[node] = v;
    while (node /= 2) nodes[node] = Op::combine(nodes[2 * node], nodes[2 * node + 1]);
  }
  void insert(const State& v) { put(leaves + ((start + rows++) & (leaves - 1)), v); }
  void evict() {
    put(leaves + start, State{});
    start = (start + 1) & (leaves - 1);
    rows--;
  }
  State query() const {
    if (start + rows <= leaves) return nodes[1];
    std::size_t node = leaves + start;
    State older = nodes[node];
    for (; node > 1; node /= 2)
      if (node % 2 == 0) older = Op::combine(older, nodes[node + 1]);
    node = leaves + ((start + rows - 1) & (leaves - 1));
    State younger = nodes[node];
    for (; node > 1; node /= 2)
      if (node % 2 == 1) younger = Op::combine(nodes[node - 1], younger);
    return Op::combine(older, younger);
  }
};

// A finger B-tree whose inner nodes have 4 to 8 children. `agg` is that of a node's rows and of all below it, but for
// nodes of the spines: of a left one without its first child and with all that lies behind the node, up to the root's
// rows; of a right one without its last child, with all that lies before it; of the root without the first and last.
template <class Op> struct Fiba {
  using State = typename Op::State;
  static constexpr int MU = 4, MOST = 2 * MU - 1;
  struct Node {
    Node* parent = nullptr;
    bool leaf = true;
    int n = 0;
    u64 times[MOST + 1];
    State rows[MOST + 1];
    Node* kids[MOST + 2];
    State agg;
  };
  Node *root = new Node, *first = root, *last = root;
  u64 now = 0;
  explicit Fiba(std::size_t) {}

  static void fold(State& agg, bool& some, const State& v) {
    agg = some ? Op::combine(agg, v) : v;
    some = true;
  }
  void inside(Node* x) {
    bool some = false;
    State agg{};
    for (int i = 0; i <= x->n; i++) {
      if (!x->leaf) fold(agg, some, x->kids[i]->agg);
      if (i < x->n) fold(agg, some, x->rows[i]);
    }
    x->agg = agg;
  }
  void of_root() {
    if (root->leaf) return inside(root);
    bool some = false;
    State agg{};
    for (int i = 0; i < root->n; i++) {
      if (i > 0) fold(agg, some, root->kids[i]->agg);
      fold(agg, some, root->rows[i]);
    }
    root->agg = agg;
  }
  void left(Node* x) {
    bool some = false;
    State agg{};
    for (int i = 0; i < x->n; i++) {
      fold(agg, some, x->rows[i]);
      if (!x->leaf) fold(agg, some, x->kids[i + 1]->agg);
    }
    if (x->parent != root) fold(agg, some, x->parent->agg);
    x->agg = agg;
  }
  void right(Node* x) {
    bool some = false;
    State agg{};
    if (x->parent != root) fold(agg, some, x->parent->agg);
    for (int i = 0; i < x->n; i++) {
      if (!x->leaf) fold(agg, some, x->kids[i]->agg);
      fold(agg, some, x->rows[i]);
    }
    x->agg = agg;
  }
  void left_from(Node* x) {
    for (; x != root; x = x->kids[0]) {
      left(x);
      if (x->leaf) return;
    }
    of_root();
    if (!root->leaf) left_from(root->kids[0]);
  }
  void right_from(Node* x) {
    for (; x != root; x = x->kids[x->n]) {
      right(x);
      if (x->leaf) return;
    }
    of_root();
    if (!root->leaf) right_from(root->kids[root->n]);
  }
  static void adopt(Node* x, int i, Node* kid) {
    x->kids[i] = kid;
    kid->parent = x;
  }

  void insert(const State& v) {
    Node* x = last;
    x->times[x->n] = now++;
    x->rows[x->n++] = v;
    bool grown = false;
    while (x->n > MOST) {  // a new node before it takes the older half
      Node* y = new Node;
      y->leaf = x->leaf;
      y->n = MU;
      for (int i = 0; i < MU; i++) {
        y->times[i] = x->times[i];
        y->rows[i] = x->rows[i];
      }
      if (!x->leaf)
        for (int i = 0; i <= MU; i++) adopt(y, i, x->kids[i]);
      u64 time = x->times[MU];
      State row = x->rows[MU];
      x->n -= MU + 1;
      for (int i = 0; i < x->n; i++) {
        x->times[i] = x->times[i + MU + 1];
        x->rows[i] = x->rows[i + MU + 1];
      }
      if (!x->leaf)
        for (int i = 0; i <= x->n; i++) x->kids[i] = x->kids[i + MU + 1];
      if (x == root) {
        grown = true;
        root = new Node;
        root->leaf = false;
        adopt(root, 0, x);
        if (y->leaf) first = y;
      }
      Node* p = x->parent;
      p->times[p->n] = time;
      p->rows[p->n] = row;
      adopt(p, p->n++, y);
      adopt(p, p->n, x);
      if (!grown) inside(y);
      x = p;
    }
    right_from(x);
    if (grown) left_from(root->kids[0]);
  }

  void evict() {
    Node* x = first;
    drop(x, 0);
    Node* top = x;
    bool both = false;  // whether the right spine has changed
    while (x != root && x->n < MU - 1) {
      Node *p = x->parent, *y = p->kids[1];
      both = both || (p == root && p->n == 1);
      x->times[x->n] = p->times[0];
      x->rows[x->n++] = p->rows[0];
      if (y->n > MU - 1) {  // one row moves over
        p->times[0] = y->times[0];
        p->rows[0] = y->rows[0];
        if (!x->leaf) adopt(x, x->n, y->kids[0]);
        drop(y, 0);
        if (!(p == root && p->n == 1)) inside(y);
      } else {  // both become one
        for (int i = 0; i <= y->n; i++) {
          if (!x->leaf) adopt(x, x->n + i, y->kids[i]);
          if (i == y->n) break;
          x->times[x->n + i] = y->times[i];
          x->rows[x->n + i] = y->rows[i];
        }
        x->n += y->n;
        p->kids[1] = x;
        drop(p, 0);
        if (last == y) last = x;
        delete y;
        if (p == root && p->n == 0) {
          delete root;
          root = x;
          x->parent = nullptr;
        }
      }
      top = x == root ? root : p;
      x = top;
    }
    left_from(top);
    if (both && !root->leaf) right_from(root->kids[root->n]);
  }
  static void drop(Node* x, int i) {  // a row, and the child before it
    x->n--;
    for (int j = i; j < x->n; j++) {
      x->times[j] = x->times[j + 1];
      x->rows[j] = x->rows[j + 1];
    }
    if (!x->leaf)
      for (int j = i; j <= x->n; j++) x->kids[j] = x->kids[j + 1];
  }
  State query() const {
    if (root->leaf) return root->agg;
    return Op::combine(Op::combine(first->agg, root->agg), last->agg);
  }
};

inline double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Op, template <class> class Algorithm>
void run(std::size_t n, std::size_t rounds, const char* path) {
  std::vector<typename Op::In> x(1 << 16);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(x.size() * 8));
  Algorithm<Op> window(n);
  const std::size_t mask = x.size() - 1;
  std::size_t i = 0;
  for (; i < n; i++) window.insert(Op::lift(x[i & mask]));
  double total = 0;
  double start = processor_seconds();
  for (std::size_t k = 0; k < rounds; k++, i++) {
    if (FENCE) std::atomic_thread_fence(std::memory_order_seq_cst);
    window.evict();
    window.insert(Op::lift(x[i & mask]));
    total += Op::lower(window.query());
  }
  std::printf("%.9f %.6g\n", processor_seconds() - start, total);
}

template <template <class> class Algorithm> void of(const std::string& op, char** argv) {
  std::size_t n = std::strtoull(argv[3], nullptr, 10), rounds = std::strtoull(argv[4], nullptr, 10);
  if (op == "sum") run<Sum, Algorithm>(n, rounds, argv[5]);
  if (op == "geomean") run<Geomean, Algorithm>(n, rounds, argv[5]);
  if (op == "bloom") run<Bloom, Algorithm>(n, rounds, argv[5]);
}

int main(int, char** argv) {
  std::string name = argv[1], op = argv[2];
  if (name == "TwoStacks") of<TwoStacks>(op, argv);
  if (name == "TwoStacksLite") of<TwoStacksLite>(op, argv);
  if (name == "Daba") of<Daba>(op, argv);
  if (name == "DabaLite") of<DabaLite>(op, argv);
  if (name == "FlatFit") of<FlatFit>(op, argv);
  if (name == "FlatFat") of<FlatFat>(op, argv);
  if (name == "Fiba") of<Fiba>(op, argv);
}

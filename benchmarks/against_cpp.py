"""Compiled rounds of evict, insert and query against the same algorithms in C++, written for this and compiled here.

The C++ is a plain rendering of the paper on `std::deque`, as its authors' is, compiled by `g++ -O3`. Both run the same
rounds over the same values in this run, in turns; the best turn of each counts. A Bloom filter is a state of 4,096 bits
with four hashes, all of which is kept and combined, and folded into one word by a query.

    python benchmarks/against_cpp.py [--quick]
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

from slidewise.evaluation.measure.clock import calibrate
from slidewise.evaluation.measure.timed_runs import rounds, values_of

ALGORITHMS = ("TwoStacks", "TwoStacksLite", "Daba", "DabaLite")
SIZES = (2**10, 2**14, 2**20)
TARGETS = {"sum": 1.2, "geomean": 1.2, "bloom": 1.5}

CPP = r"""
#include <bitset>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
  auto start = std::chrono::steady_clock::now();
  for (std::size_t k = 0; k < rounds; k++, i++) {
    window.evict();
    window.insert(Op::lift(x[i & mask]));
    total += Op::lower(window.query());
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%.9f %.6g\n", took.count(), total);
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
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, one turn; nothing is saved")
    parser.add_argument("--operator", choices=TARGETS, help="one operator only; nothing is saved")
    options = parser.parse_args()
    console = make_console(110)
    compiler = shutil.which("g++")
    if compiler is None:
        console.print("there is no g++ here to compile the other side with")
        return
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{describe_machine(['numpy', 'numba', 'llvmlite'])}, g++ {version} -O3"
    console.print(machine)
    clock = calibrate()
    lines: list[tuple[str, str, int, float, float, float, bool]] = []
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory, "swag.cpp"), Path(directory, "swag")
        source.write_text(CPP)
        subprocess.run([compiler, "-O3", "-std=c++17", "-o", str(binary), str(source)], check=True)
        for operator in TARGETS if options.operator is None else (options.operator,):
            values = values_of(operator, 1)
            path = Path(directory, operator)
            path.write_bytes(values.tobytes())
            for n in SIZES[: 2 if operator == "bloom" else 3]:
                count = {"sum": 4_000_000, "geomean": 1_500_000, "bloom": 100_000}[operator] // (
                    8 if options.quick else 1
                )
                for algorithm in ALGORITHMS:
                    ours, theirs = [], []
                    for _ in range(1 if options.quick else 3):
                        timing = rounds(algorithm, operator, values, n, count)
                        ours.append(clock.ns(timing.ticks) / 1e9)
                        command = [str(binary), algorithm, operator, str(n), str(count), str(path)]
                        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                        theirs.append(float(answer[0]))
                        if operator != "bloom":
                            assert math.isclose(float(answer[1]), timing.total, rel_tol=1e-5), (answer, timing)
                    a, b = count / min(ours) / 1e6, count / min(theirs) / 1e6
                    lines.append(
                        (operator, algorithm, n, round(a, 3), round(b, 3), round(a / b, 2), a / b >= TARGETS[operator])
                    )
                    console.print(*lines[-1])
    table = Table("operator", "algorithm", "n", "ours, million rounds/s", "C++", "ratio", "met")
    for line in lines:
        table.add_row(*map(str, line))
    console.print(table)
    if options.quick or options.operator:
        console.print("nothing is saved of a quick run, or of one operator")
        return
    fields = ("operator", "algorithm", "n", "ours", "cpp", "ratio", "met")
    say_saved(console, [save_csv("against_cpp.csv", machine, fields, lines)])


if __name__ == "__main__":
    main()

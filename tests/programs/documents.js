// A service that reads documents in batches and keeps one in fifty: node --expose-gc documents.js
"use strict";
const { setTimeout: wait } = require("timers/promises");
const kept = globalThis.kept = [];
let random = 1;

function read() {
  random = (random * 1103515245 + 12345) & 0x7fffffff;
  return Buffer.allocUnsafeSlow(4096 + (random >>> 8) % 60000).fill(1);
}

// When V8 collects by itself depends on the time, so each batch is collected here; threads of it
// free the buffers.
async function main() {
  for (let round = 0; round < 10; round++) {
    const batch = Array.from({ length: 2000 }, read);
    kept.push(...batch.filter((_, i) => i % 50 === 0));
    batch.length = 0;
    gc();
    await wait(100);
  }
  process.reallyExit(0);
}
main();

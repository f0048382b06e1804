// SPDX-License-Identifier: Apache-2.0

// Splits sentences into words, with Storm's storm.js.

const storm = require('storm');

function Split() {
  storm.BasicBolt.call(this);
}
Split.prototype = Object.create(storm.BasicBolt.prototype);

Split.prototype.process = function (tup, done) {
  if (tup.values[0] === 'fail') {
    done('on purpose');
    return;
  }
  const words = tup.values[0].split(' ');
  let left = words.length;
  words.forEach((word) => {
    this.emit({ tuple: [word], anchorTupleId: tup.id }, (tasks) => {
      this.logWarn(`${word} went to ${tasks}`);
      if (--left === 0) {
        done();
      }
    });
  });
};

new Split().run();

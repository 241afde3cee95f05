// Golden vectors: what amp 0.3.1 and amp-message 0.1.2 write for each value, and what they read from
// each frame. Prints JSON; `vectors.json` beside it is what it printed.
'use strict';

const Message = require('amp-message');

const typed = (value) => {
  if (value === undefined) return { $undefined: true };
  if (Buffer.isBuffer(value)) return { $buffer: value.toString('hex') };
  return value;
};

const written = Object.entries({
  'a string': ['hello'],
  'an empty string': [''],
  'text beyond ASCII': ['é 😀'],
  'a lone surrogate': ['\ud800'],
  'an integer': [42],
  'a fraction': [1.5],
  'a negative number': [-7],
  'a large number': [1e21],
  'a number beyond 53 bits': [9007199254740993],
  'not a number': [NaN],
  'true': [true],
  'null': [null],
  'undefined': [undefined],
  'an object': [{ a: 1, b: 'x', c: null }],
  'an array': [[1, 'x', null, undefined]],
  'a line separator': [{ a: '\u2028' }],
  'a buffer': [Buffer.from([0, 1, 2])],
  'an empty buffer first': [Buffer.alloc(0), 'a'],
  'a buffer in an object': [{ b: Buffer.from([1, 2]) }],
  'several': ['a', { b: 1 }, Buffer.from([255]), false],
  'fifteen': Array.from({ length: 15 }, (_, n) => n),
}).map(([name, values]) => ({
  name,
  values: values.map(typed),
  frame: new Message(values).toBuffer().toString('hex'),
}));

const read = Object.entries({
  'text that is not UTF-8': '11 00000003 733aff',
  'JSON with blanks': '11 00000006 6a3a20312020',
  'JSON that is not UTF-8': '11 00000005 6a3a22ff22',
  'an escaped lone surrogate': '11 0000000a 6a3a225c756438303022',
  'version 0': '01 00000003 733a61',
  'version 15': 'f1 00000003 733a61',
  'a buffer like text': '11 00000004 733a6869',
  'a buffer like JSON': '11 00000004 6a3a7b7d',
  'i: is a buffer': '11 00000003 693a35',
  'no JSON': '11 00000003 6a3a78',
  'undefined as JSON': '11 0000000b 6a3a756e646566696e6564',
}).map(([name, hex]) => {
  const frame = hex.replaceAll(' ', '');
  try {
    const values = new Message(Buffer.from(frame, 'hex')).args.map(typed);
    return { name, frame, values };
  } catch {
    return { name, frame, values: null };
  }
});

process.stdout.write(JSON.stringify({ written, read }, null, 1) + '\n');

import { describe, expect, it } from 'vitest';
import { boundaryOf, formParts, MalformedForm } from '../../../api/multipart-form.ts';

const parts = (text: string) =>
  formParts(Buffer.from(text), 'B').map(({ name, isFile, content }) => ({
    name,
    isFile,
    content: content.toString(),
  }));
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.wav"';

describe('boundaryOf', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; charset=utf-8; Boundary="a b;=c"; boundary=no', 'a b;=c'],
    ['multipart/form-data;boundary="a\\"b\\\\"', 'a"b\\'],
  ])('%s', (type, expected) => expect(boundaryOf(type)).toBe(expected));

  it.each(['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; xboundary=a'])(
    '%s names none',
    (type) => expect(() => boundaryOf(type)).toThrow(MalformedForm),
  );
});

describe('formParts', () => {
  it('tells files from fields and leaves out what is no part of a form', () => {
    const text = [
      'for old readers',
      '--B',
      'content-type: text/plain',
      'CONTENT-DISPOSITION: FORM-DATA; NAME=note',
      '',
      'a',
      '--B \t',
      'Content-Disposition: form-data;',
      ' name="a\\"b"; filename*=utf-8\'\'x',
      '',
      'b',
      '--B',
      'Content-Disposition: attachment; name="file"',
      '',
      'c',
      '--B',
      'no headers that end',
      '--B',
      'Content-Disposition: form-data; name="raw"',
      'Content-Type: application/octet-stream',
      '',
      'd',
      '--B--',
      'what follows',
    ].join('\r\n');
    expect(parts(text)).toEqual([
      { name: 'note', isFile: false, content: 'a' },
      { name: 'a"b', isFile: true, content: 'b' },
      { name: 'raw', isFile: true, content: 'd' },
    ]);
  });

  it.each([
    ['', 'Content-Disposition'],
    ['\r\n', 'a line end'],
    ['x--B', 'a boundary that begins no line'],
    ['\r\n--Bee\r\nx--B', 'words that begin as the boundary does'],
    ['\r\n--B x\r\n', 'a word behind the boundary'],
    ['\n--B\n', 'a boundary between other line ends'],
  ])('content %j is what it is (%s)', (content) => {
    expect(parts(`--B\r\n${FILE}\r\n\r\n${content}\r\n--B--`)).toEqual([
      { name: 'file', isFile: true, content },
    ]);
  });

  it('a part whose headers end with the next boundary is empty', () => {
    expect(parts(`--B\r\n${FILE}\r\n\r\n--B--`)).toEqual([{ name: 'file', isFile: true, content: '' }]);
  });

  it('the content is not copied', () => {
    const body = Buffer.from(`--B\r\n${FILE}\r\n\r\nwav\r\n--B--`);
    expect(formParts(body, 'B')[0]?.content.buffer).toBe(body.buffer);
  });

  it.each([
    ['', 'nothing'],
    [`--B\r\n${FILE}\r\n\r\nwav`, 'no closing boundary'],
    [`--B\r\n${FILE}\r\n\r\nwav\r\n--B`, 'a boundary that is cut'],
    [`--B\r\n${FILE}\r\n\r\nwav\r\n--B-`, 'a closing boundary that is cut'],
    ['--B\r\n\r\n'.repeat(1_001), 'over 1,000 parts'],
  ])('refuses %#: %s', (text) => expect(() => parts(text)).toThrow(MalformedForm));
});

import fc from 'fast-check';

/** A multipart/form-data body and what must become of it. */
export interface GeneratedForm {
  readonly contentType: string;
  readonly body: Buffer;
  /** The content of the first file part named `file`; undefined: there is none. */
  readonly file: Buffer | undefined;
  /** Bytes of the body up to the end of its closing delimiter; a body cut before it is not complete. */
  readonly closedAtBytes: number;
}

interface Part {
  readonly header: string;
  readonly content: Buffer;
  readonly isFile: boolean;
}

const ALPHANUMERIC = [...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const TOKEN_MARKS = [..."'+_-."];
/** RFC 2046: these are allowed in a boundary too, and then it must be quoted. */
const QUOTED_MARKS = [...'(),/:=? '];

const boundary = fc
  .tuple(
    fc.string({
      unit: fc.constantFrom(...ALPHANUMERIC, ...TOKEN_MARKS, ...QUOTED_MARKS, '-'),
      maxLength: 69,
    }),
    fc.constantFrom(...ALPHANUMERIC, ...TOKEN_MARKS),
  )
  .map(([start, last]) => start + last);

const contentTypeOf = (name: string, quoted: boolean, form: string): string => {
  const mustQuote = QUOTED_MARKS.some((mark) => name.includes(mark));
  return form.replace('$', quoted || mustQuote ? `"${name}"` : name);
};

const partName = fc.oneof(
  fc.constantFrom('file', 'file', 'File', 'files', 'fil', '', 'model', 'language', '文件'),
  fc.string({ unit: fc.constantFrom(...ALPHANUMERIC, ' ', '音'), maxLength: 12 }),
);
const fileName = fc.oneof(
  fc.constantFrom('a.wav', '', '../../etc/passwd', 'C:\\a.wav'.replaceAll('\\', '/'), '录音.wav', '%22.wav'),
  fc.string({ unit: fc.constantFrom(...ALPHANUMERIC, ' ', '.', '/', '录', ';', '='), maxLength: 40 }),
);
const extraHeader = fc.constantFrom(
  'Content-Type: audio/wav',
  'content-type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: binary',
  'Content-Length: 7',
  'X-Note: a, b; c="d"',
);

/** @param fileContent of a part that is named `file` */
const partOf = (name: fc.Arbitrary<string>, fileContent: fc.Arbitrary<Buffer>): fc.Arbitrary<Part> =>
  fc
    .record({
      name,
      fileName: fc.option(fileName, { nil: undefined, freq: 3 }),
      extra: fc.uniqueArray(extraHeader, {
        maxLength: 2,
        selector: (line) => line.split(':')[0]?.toLowerCase(),
      }),
      dispositionFirst: fc.boolean(),
      headerName: fc.constantFrom('Content-Disposition', 'content-disposition', 'CONTENT-DISPOSITION'),
      fileContent,
      otherContent: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
    })
    .map(({ name, fileName, extra, dispositionFirst, headerName, fileContent, otherContent }) => {
      const file = fileName === undefined ? '' : `; filename="${fileName}"`;
      const disposition = `${headerName}: form-data; name="${name}"${file}`;
      const lines = dispositionFirst ? [disposition, ...extra] : [...extra, disposition];
      const isFile = name === 'file' && (fileName !== undefined || extra.includes('Content-Type: audio/wav'));
      return { header: lines.join('\r\n'), content: name === 'file' ? fileContent : otherContent, isFile };
    });

/** One in five is of parts of any name: most of those have no file, and end before all that comes behind the form. */
const partsOf = (fileContent: fc.Arbitrary<Buffer>): fc.Arbitrary<Part[]> => {
  const anyPart = partOf(partName, fileContent);
  const others = fc.array(anyPart, { maxLength: 2 });
  const withFile = fc
    .tuple(others, partOf(fc.constant('file'), fileContent), others)
    .map(([before, part, behind]) => [...before, part, ...behind]);
  return fc.oneof(
    { weight: 4, arbitrary: withFile },
    { weight: 1, arbitrary: fc.array(anyPart, { maxLength: 4 }) },
  );
};

/** Forms as RFC 7578 has them. @param content of the parts that are named `file` */
export const rightForm = (content: fc.Arbitrary<Buffer>): fc.Arbitrary<GeneratedForm> =>
  fc
    .record({
      boundary,
      quoted: fc.boolean(),
      form: fc.constantFrom(
        'multipart/form-data; boundary=$',
        'multipart/form-data;boundary=$',
        'multipart/form-data\t; boundary=$',
        'Multipart/Form-Data; charset=utf-8; Boundary=$',
        'multipart/form-data; boundary=$; charset=utf-8',
      ),
      parts: partsOf(content),
      preamble: fc.constantFrom('', '\r\n', 'for old readers\r\n', '\r\n\r\n'),
      epilogue: fc.constantFrom('', '\r\n', '\r\nwhat follows', '\r\n\r\n--'),
    })
    .filter(({ boundary, parts }) =>
      // A boundary is chosen so that it does not occur in the content.
      parts.every(({ content }) => !content.includes(`--${boundary}`)),
    )
    .map(({ boundary, quoted, form, parts, preamble, epilogue }) => {
      const bytes = parts.flatMap(({ header, content }) => [
        Buffer.from(`--${boundary}\r\n${header}\r\n\r\n`),
        content,
        Buffer.from('\r\n'),
      ]);
      const closed = Buffer.concat([Buffer.from(preamble), ...bytes, Buffer.from(`--${boundary}--`)]);
      return {
        contentType: contentTypeOf(boundary, quoted, form),
        body: Buffer.concat([closed, Buffer.from(epilogue)]),
        file: parts.find(({ isFile }) => isFile)?.content,
        closedAtBytes: closed.length,
      };
    });

const word = fc.constantFrom(
  '--B',
  '--B--',
  '\r\n--B\r\n',
  '\r\n--B--\r\n',
  '--C',
  '--',
  '-',
  '\r\n',
  '\r\n\r\n',
  '\r',
  '\n',
  'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n',
  'Content-Disposition: form-data; name="file"\r\n',
  'Content-Disposition: form-data; name="fi\rle"; filename="a"\r\n\r\n',
  "Content-Disposition: form-data; name*=utf-8''file; filename*=utf-16le''%61%00\r\n\r\n",
  "Content-Disposition: form-data; name*=nonsense'x'file; filename*0=a\r\n\r\n",
  'Content-Disposition: form-data; name="file"; filename="a\\"b\\\\"; x*; =; ;;"\r\n\r\n',
  'Content-Disposition: attachment; name=file\r\n\r\n',
  'Content-Disposition\r\n',
  'Content-Type: multipart/mixed; boundary=C\r\n\r\n',
  'Content-Type: application/octet-stream; charset=utf-16le\r\n',
  'Content-Type: ;charset\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  ' folded\r\n',
  ': no name\r\n',
  'RIFF',
  '\0',
  '\xff',
);

/** The words of the format in any order. */
const soup = fc
  .array(
    fc.oneof(
      { weight: 16, arbitrary: word },
      { weight: 2, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 20 }) },
      // More than a stream holds before it makes its writer wait.
      { weight: 1, arbitrary: fc.constant('x'.repeat(70_000)) },
    ),
    { maxLength: 25 },
  )
  .map((words) => Buffer.from(words.join(''), 'latin1'));

/** One word over and over. */
const repeated = fc
  .tuple(fc.oneof(fc.constant('--B\r\n'), word), fc.constantFrom(300, 3_000), soup)
  .map(([text, count, tail]) => Buffer.concat([Buffer.from(text.repeat(count), 'latin1'), tail]));

const soupType = fc.oneof(
  { weight: 9, arbitrary: fc.constant('multipart/form-data; boundary=B') },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.constantFrom(
          'multipart/form-data',
          'multipart/mixed',
          '; boundary=',
          ';',
          '"',
          'B',
          '\\',
          '=',
          '*',
          "''",
          'boundary',
          ' ',
          'charset=utf-8',
          `boundary=${'b'.repeat(300)}`,
        ),
        { maxLength: 8 },
      )
      .map((words) => words.join('').trim()),
  },
);

/** What broken and hostile programs send as a form. */
export const anyForm: fc.Arbitrary<Pick<GeneratedForm, 'contentType' | 'body'>> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .tuple(
        rightForm(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 4 }), soup), { minLength: 1, maxLength: 2 }),
      )
      .map(([{ contentType, body }, changes]) => ({
        contentType,
        body: changes.reduce((before, [place, removed, inserted]) => {
          const at = place % (before.length + 1);
          return Buffer.concat([before.subarray(0, at), inserted, before.subarray(at + removed)]);
        }, body),
      })),
  },
  { weight: 10, arbitrary: fc.record({ contentType: soupType, body: soup }) },
  { weight: 1, arbitrary: fc.record({ contentType: soupType, body: repeated }) },
);

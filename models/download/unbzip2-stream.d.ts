declare module 'unbzip2-stream' {
  /** A stream of the old kind (`through`): bzip2 in, plain out; concatenated bzip2 files are read as one. */
  export default function unbzip2(): NodeJS.ReadWriteStream;
}

/**
 * Real answers of the service: path → method → status → name → body. A test compares them with their schemas
 * and with what the service says.
 */
type Examples = Readonly<Record<string, object>>;
type ByStatus = Readonly<Record<string, Examples>>;

const apiError = (error: string, message: string): Examples => ({ [error]: { error, message } });

const REFUSED: ByStatus = {
  401: apiError('unauthorized', 'there is no Authorization header; send "Authorization: Bearer <API_TOKEN>"'),
  403: apiError('forbidden', "the address 203.0.113.7 is not on this server's list of allowed clients"),
};

export const EXAMPLES: Readonly<Record<string, Readonly<Record<string, ByStatus>>>> = {
  '/healthz': { get: { 200: { alive: { status: 'alive' } } } },
  '/readyz': {
    get: {
      ...REFUSED,
      200: { free: { status: 'ready', busy: false }, busy: { status: 'ready', busy: true } },
      503: {
        loading: { status: 'loading', busy: false },
        failed: { status: 'loading', busy: false, error: 'ModelLoadError' },
      },
    },
  },
  '/v1/audio/transcriptions': {
    post: {
      ...REFUSED,
      200: { text: { text: '昨天天气不是很好', audio_ms: 2405, inference_ms: 21.38 } },
      400: {
        ...apiError(
          'invalid_format',
          'The WAV file has a sample rate of 44100 Hz, not 16000 Hz. Convert it: ffmpeg -i IN -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav',
        ),
        ...apiError('empty_audio', 'The WAV file has no audio sample'),
        ...apiError(
          'audio_too_long',
          'The recording has 240001 samples (15.000 s); at most 240000 (15 s) are taken. Shorten it to 15 s, or let asr-client cut it',
        ),
      },
      408: apiError('timeout', 'the upload was not complete in time; 1024 of 77164 bytes arrived'),
      409: apiError('busy', 'another recognition task is active; try again shortly'),
      413: apiError(
        'upload_too_large',
        'the file has 484097 bytes; at most 484096 are taken, enough for 15 s of 16 kHz, mono, 16 bits. Shorten it to 15 s, or let asr-client cut it',
      ),
      422: {
        missing: { detail: [{ loc: ['body', 'file'], msg: 'the form has no part "file"', type: 'missing' }] },
      },
      500: apiError('inference_failed', 'the model failed on this recording'),
      503: apiError('not_ready', 'the model is not ready yet; try again shortly'),
    },
  },
};

/**
 * The object under these names.
 * @throws Error naming the first that is missing: then an example is about something that does not exist.
 */
function within(description: object, ...names: string[]): object {
  return names.reduce((parent: object, name) => {
    const value: unknown = Reflect.get(parent, name);
    if (typeof value === 'object' && value !== null) return value;
    throw new Error(`the OpenAPI description has no ${name} in ${names.join(' ')}`);
  }, description);
}

const header = (schema: object, description: string) => ({ required: true, description, schema });
const RETRY_AFTER = {
  'Retry-After': header({ type: 'integer', enum: [1] }, 'seconds to wait before the next attempt'),
};
/** The headers that go with a status, wherever it occurs. */
const HEADERS: Readonly<Record<string, object>> = {
  401: { 'WWW-Authenticate': header({ type: 'string', enum: ['Bearer'] }, 'how to authenticate') },
  409: RETRY_AFTER,
  503: RETRY_AFTER,
};

/**
 * Puts into an OpenAPI description what the schemas of the routes cannot say: examples, headers that go with
 * a status, and the type of the form's file.
 */
export function addExamples(description: object): void {
  const path = ['paths', '/v1/audio/transcriptions', 'post', 'requestBody', 'content', 'multipart/form-data'];
  Object.assign(within(description, ...path), { encoding: { file: { contentType: 'audio/wav' } } });
  for (const [path, methods] of Object.entries(EXAMPLES)) {
    for (const [method, statuses] of Object.entries(methods)) {
      for (const [status, bodies] of Object.entries(statuses)) {
        const response = within(description, 'paths', path, method, 'responses', status);
        const examples = Object.entries(bodies).map(([name, value]) => [name, { value }]);
        Object.assign(within(response, 'content', 'application/json'), {
          examples: Object.fromEntries(examples),
        });
        const headers = HEADERS[status];
        if (headers !== undefined) Object.assign(response, { headers });
      }
    }
  }
}

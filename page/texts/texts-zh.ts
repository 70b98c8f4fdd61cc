import { FFMPEG_COMMAND } from '../../common/audio/file-kinds.ts';
import {
  clock,
  KEPT_SOUND_HOURS,
  MAX_DECODED_MB,
  MAX_DECODED_MINUTES,
  MAX_FILES,
  MAX_MINUTES,
  MAX_WAITING_MINUTES,
  megabytesUp,
  minutesUp,
  type Texts,
} from './texts.ts';

/** Those names of `common/audio/file-kinds.ts` that hold English words. */
const FORMATS: Readonly<Record<string, string>> = {
  AMR: 'AMR 录音',
  "SILK, a messenger's voice message": 'SILK 语音（微信、QQ 的语音消息）',
  'WebM or Matroska': 'WebM 或 Matroska',
  'Ogg, with Opus or Vorbis': 'Ogg（Opus 或 Vorbis）',
  'MP4 or M4A': 'MP4 或 M4A',
  'Base64 text': 'Base64 文本',
};

function wayOut(format: string | undefined): string {
  if (format === undefined) return '请选择 WAV、MP3 或 M4A 文件。';
  if (format.startsWith('SILK')) return '请先用 silk-v3-decoder 解码，再选择解码后的文件。';
  return `请先转换格式：${FFMPEG_COMMAND}`;
}

/** Between a Latin letter or digit and a Han character stands a blank. */
const spaced = (name: string): string => (/[\x21-\x7e]$/.test(name) ? `${name} ` : name);

export const chinese: Texts = {
  lang: 'zh-CN',
  otherLanguage: ['en', 'English'],
  labels: {
    title: '中文语音识别',
    tokenLabel: '访问令牌',
    tokenHint: '请向管理员索取；运行 npm start 时会显示。令牌只保存在本标签页，关闭后即清除，除非选择记住。',
    tokenRemember: '在这台设备上记住令牌',
    tokenUse: '使用',
    tokenShow: '显示',
    tokenChange: '更换令牌',
    chooseFile: '选择文件',
    microphone: '麦克风',
    recordings: '本标签页的录音',
    recordingsHint: `只保存在本标签页：最近 ${MAX_FILES} 条，声音合计最长 ${KEPT_SOUND_HOURS} 小时。`,
    limits: `录音和 WAV 文件最长 ${MAX_MINUTES} 分钟，其他文件 ${MAX_DECODED_MINUTES} 分钟。`,
    dropHere: '把录音文件拖放到这里',
    documentation: '在线试用接口（英文）',
    reference: '接口文档',
    notStored: '服务器不保存录音。使用前请核对文字。',
  },
  failures: {
    microphone_refused: ['没有麦克风权限。', '请点击地址栏旁的图标，允许本页使用麦克风，然后重新录音。'],
    microphone_missing: ['没有找到麦克风。', '请接上麦克风，或选择一个录音文件。'],
    microphone_in_use: ['无法打开麦克风。', '其他程序可能正在使用麦克风：请关闭该程序，然后重新录音。'],
    microphone_silent: [
      '麦克风没有声音。',
      '请检查麦克风是否打开、系统声音设置中是否选对了设备；Firefox 还需要有声音输出设备（如耳机）。然后重试。',
    ],
    microphone_lost: ['麦克风已断开。', '断开之前的录音都会保留并识别。请重新接上再继续。'],
    recording_limit: [`已满 ${MAX_MINUTES} 分钟，录音结束。`, '录音都会保留并识别。要继续，请重新开始录音。'],
    waiting_limit: [
      `录音已结束：有 ${MAX_WAITING_MINUTES} 分钟还在等待服务，不能再多。`,
      '录音都会保留并识别。请等服务空闲后再开始录音。',
    ],
    page_not_secure: [
      '浏览器只允许 HTTPS 或 localhost 页面使用麦克风。',
      '请用 https:// 打开本页，或在服务器本机用 localhost 访问。在这里仍可选择录音文件。',
    ],
    browser_too_old: [
      '这个浏览器无法在本页录音。',
      '请使用新版的 Chrome、Edge、Firefox 或 Safari，或选择一个录音文件。',
    ],
    too_short: ['录音太短，什么也没听到。', '按一下，说话，再按一下；或者按住按钮说话。'],
    token_missing: ['需要先填写访问令牌。', '请在上方填写。令牌请向管理员索取；运行 npm start 时会显示。'],
    unauthorized: ['令牌无效。', '请确认令牌复制完整，并在上方重新填写。'],
    forbidden: [
      '服务不接受来自这台设备的请求。',
      '请联系管理员把这台设备的 IP 地址加入 ASR_ALLOWED_CLIENTS。',
    ],
    busy: ['服务正在识别另一段录音。', '一次只能处理一段，请稍后再试。'],
    not_ready: ['语音模型还没有就绪。', '模型正在加载，或加载失败。请稍后再试，或联系管理员。'],
    overloaded: ['服务跟不上实时音频。', '录音已保留，点“重试”可以继续识别。'],
    queued: ['前面可能还有其他录音。', '请稍后重试。'],
    connection_lost: ['与服务的连接断开了。', '请检查网络以及服务是否在运行，然后重试。'],
    stream_refused: [
      '没有实时文字：无法建立流式连接。',
      '若一直如此，请告诉管理员：ASR_ALLOWED_ORIGINS 须包含本页地址，代理须转发 WebSocket。',
    ],
    timeout: ['服务等待音频超时。', '网络可能较慢。请重试，录音最好短一些。'],
    inference_failed: ['识别失败。', '请重试；如果每段录音都这样，请告诉管理员。'],
    cancelled: ['已停止等待。', '录音已保留，随时可以重试。'],
    file_unreadable: (name, { format }) => [
      format === undefined
        ? `${spaced(name)}不是浏览器能读取的音频。`
        : `${spaced(name)}是 ${FORMATS[format] ?? format}，浏览器无法读取。`,
      wayOut(format),
    ],
    file_damaged: (name) => [`${spaced(name)}已损坏，无法读取。`, '请重新保存或导出录音。'],
    file_cut_off: (name) => [`${spaced(name)}不完整，缺少录音的结尾。`, '请重新复制或下载这个文件。'],
    file_too_long: (name, { lengthMs }) => [
      `${spaced(name)}${lengthMs === undefined ? '太长' : `长 ${minutesUp(lengthMs)} 分钟`}，最长 ${MAX_MINUTES} 分钟。`,
      '请改用 asr-client transcribe（最长 6 小时），或剪成几段。',
    ],
    file_too_long_to_decode: (name, { lengthMs = 0 }) => [
      `${spaced(name)}长 ${minutesUp(lengthMs)} 分钟；WAV 以外的文件最长 ${MAX_DECODED_MINUTES} 分钟。`,
      `请改用 asr-client transcribe（最长 6 小时），或转换格式：${FFMPEG_COMMAND}`,
    ],
    file_too_large: (name, { bytes = 0 }) => [
      `${spaced(name)}大小为 ${megabytesUp(bytes)} MB；WAV 以外的文件最大 ${MAX_DECODED_MB} MB。`,
      `请改用 asr-client transcribe，或只保留声音：${FFMPEG_COMMAND}`,
    ],
    file_empty: (name) => [`${spaced(name)}里没有声音。`, '请选择另一个文件。'],
    unexpected: ['发生了意外错误。', '请重试；若仍然如此，请把下面这一行发给管理员。'],
  },
  thisRecording: '这段录音',
  sentenceGap: '',
  ofFile: (name, what) => `${name}：${what}`,
  status: {
    ready: '就绪',
    recording: '录音中',
    recognizing: '识别中',
    busy: '使用中',
    loading: '模型加载中',
    unavailable: '模型不可用',
    checking: '检查中',
    unreachable: '无法连接',
    no_token: '',
  },
  model: (id, family) => {
    if (id === 'bundled' && family === 'whisper') return '自带模型（Whisper base）';
    return family === undefined ? `模型 ${id}` : `模型 ${id}（${family}）`;
  },
  measures: {
    audio_ms: '录音时长',
    finalize_ms: '说完后等待',
    inference_ms: '识别用时',
  },
  button: {
    idle: ['开始录音', '按一下开始，再按一下结束；也可以按住说话。'],
    opening: ['正在等待麦克风……'],
    recording: ['结束录音', '再按一下结束；按住说话时松开即可。'],
    recognizing: ['正在识别……'],
    waiting: ['正在等待服务……'],
  },
  placeholder: '按下按钮，说中文。文字会实时显示在这里。',
  copy: '复制',
  copyAll: '复制全部',
  spaceHint: '空格键同样有效。',
  level: '麦克风音量',
  listening: '正在听……',
  nothingHeard: '没有识别到文字。请大声一点，或离麦克风近一点。',
  nothingInFile: '这个文件里没有识别到文字。',
  notRecognized: '未识别。',
  copied: '已复制',
  play: '播放',
  pause: '暂停',
  save: '保存 WAV',
  saveText: '下载文本',
  saveSubtitles: '字幕 (SRT)',
  textFileName: '识别文本',
  remove: '删除',
  removed: (name) => `已删除：${name}。5 秒内可以撤销。`,
  undo: '撤销',
  tryAgain: '重试',
  cancel: '停止等待',
  stopAll: '停止',
  microphone: '麦克风',
  systemMicrophone: '系统默认',
  keepSpeaking: '请继续说：录音都会保留并识别。',
  notNow: '一次只能处理一段录音：请先完成这一段。',
  tooManyFiles: `一次最多识别 ${MAX_FILES} 个文件，其余的请稍后再选。`,
  recognizing: (name, number, count) => (count === 1 ? name : `第 ${number} 个，共 ${count} 个：${name}`),
  recognized: (recognizedMs, lengthMs) => `已识别 ${clock(recognizedMs)}，共 ${clock(lengthMs)}`,
  audioWaits: (ms) => `有 ${clock(ms)} 的录音等待识别，最多 ${MAX_WAITING_MINUTES}:00。`,
  timer: { left: ['还可录 ', ''], waited: ['已等待 ', ''] },
  left: (seconds) => (seconds < 120 ? `还剩 ${seconds} 秒` : `还剩 ${seconds / 60} 分钟`),
  triesAgain: '页面会自动重试，轮到后即开始识别，无需操作。',
  seconds: (ms) => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} 秒` : clock(ms)),
  result: '识别结果：',
  longResult: '已全部识别。',
};

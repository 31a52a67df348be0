import workletUrl from './talk.worklet.ts?worker&url';

/** Rate of talk. The audio context converts between it and the devices. */
const sampleRate = 8_000;
const microphoneConstraints = { echoCancellation: true, noiseSuppression: true, channelCount: 1 };
/** The talk stays open that long after the button, to hear the driver. */
const listenMs = 15_000;
/** Delay of the driver's voice that evens out its packets. */
const jitterSeconds = 0.06;
const levelIntervalMs = 100;

type TalkFailure = 'microphone' | 'busy' | 'refused' | 'taken' | 'timeLimit' | 'access' | 'ended' | 'lost';

export type TalkState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting'; readonly sinceMs: number }
  | { readonly kind: 'talking'; readonly sinceMs: number; readonly level: number }
  /** The button is released; the driver is heard until then. */
  | { readonly kind: 'listening'; readonly untilMs: number }
  | { readonly kind: 'failed'; readonly reason: TalkFailure; readonly message: string };

/** Meanings of close codes (docs/reference/video.md). */
const closeFailures: Readonly<Record<number, TalkFailure>> = {
  1012: 'lost',
  4403: 'access',
  4404: 'ended',
  4408: 'timeLimit',
  4409: 'taken',
  4502: 'lost',
};

/** Returns why an open talk ended. */
const toTalkFailure = (closeCode: number): TalkFailure => closeFailures[closeCode] ?? 'lost';

/** Returns the address with which a manager takes over. */
const withForce = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}force=true`;

/** Talks to a driver: the microphone while the button is held, and the driver's voice until the talk ends. */
export class TalkSession {
  readonly #talkUrl: string;
  readonly #onState: (state: TalkState) => void;
  #state: TalkState = { kind: 'idle' };
  #isPressed = false;
  #socket: WebSocket | null = null;
  #audio: AudioContext | null = null;
  #microphone: MediaStream | null = null;
  #playAt = 0;
  #talkSinceMs = 0;
  #levelAtMs = 0;
  #listenTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(talkUrl: string, onState: (state: TalkState) => void) {
    this.#talkUrl = talkUrl;
    this.#onState = onState;
  }

  /** Begins to talk; opens the connection first. */
  async press({ isForced = false }: { readonly isForced?: boolean } = {}): Promise<void> {
    this.#isPressed = true;
    clearTimeout(this.#listenTimer);
    if (this.#state.kind === 'connecting') return;
    if (this.#socket !== null) return this.#talk();
    this.#setState({ kind: 'connecting', sinceMs: Date.now() });
    try {
      await this.#openMicrophone();
    } catch (error) {
      return this.#fail('microphone', error instanceof Error ? error.message : String(error));
    }
    // The user may have ended the talk during the dialog for the microphone.
    if (!this.#isConnecting) return this.#disconnect();
    this.#openSocket(isForced ? withForce(this.#talkUrl) : this.#talkUrl);
  }

  /** Stops talking. The driver is heard a while longer. */
  release(): void {
    this.#isPressed = false;
    if (this.#state.kind === 'talking') this.#listen();
  }

  /** Ends the talk. */
  close(): void {
    this.#disconnect();
    this.#setState({ kind: 'idle' });
  }

  async #openMicrophone(): Promise<void> {
    const audio = new AudioContext({ sampleRate });
    this.#audio = audio;
    await audio.audioWorklet.addModule(workletUrl);
    this.#microphone = await navigator.mediaDevices.getUserMedia({ audio: microphoneConstraints });
    const node = new AudioWorkletNode(audio, 'microphone', { numberOfOutputs: 0 });
    audio.createMediaStreamSource(this.#microphone).connect(node);
    node.port.onmessage = ({ data }: MessageEvent<{ pcm: ArrayBuffer; level: number }>) => this.#send(data);
  }

  #openSocket(url: string): void {
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      if (this.#isPressed) this.#talk();
      else this.#listen();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.#playVoice(new Int16Array(data));
    socket.onclose = ({ code }) => {
      if (isOpen) this.#fail(toTalkFailure(code), '');
      else void this.#explainRefusal(url);
    };
  }

  /** A page sees no status of a refused websocket; a plain request to the same address returns it. */
  async #explainRefusal(url: string): Promise<void> {
    try {
      const response = await fetch(url.replace(/^ws/, 'http'), { cache: 'no-store' });
      const { error = '' } = (await response.json()) as { error?: string };
      if (response.status === 409) return this.#fail('busy', '');
      if (response.status === 401 || response.status === 403) return this.#fail('access', error);
      this.#fail('refused', response.status === 400 ? '' : error);
    } catch {
      this.#fail('lost', '');
    }
  }

  #send({ pcm, level }: { readonly pcm: ArrayBuffer; readonly level: number }): void {
    if (this.#state.kind !== 'talking' || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(pcm);
    const now = performance.now();
    if (now - this.#levelAtMs < levelIntervalMs) return;
    this.#levelAtMs = now;
    this.#setState({ kind: 'talking', sinceMs: this.#talkSinceMs, level });
  }

  #playVoice(pcm: Int16Array): void {
    const audio = this.#audio;
    if (audio === null || pcm.length === 0) return;
    const buffer = audio.createBuffer(1, pcm.length, sampleRate);
    buffer.getChannelData(0).set(Float32Array.from(pcm, (sample) => sample / 32_768));
    const source = new AudioBufferSourceNode(audio, { buffer });
    source.connect(audio.destination);
    this.#playAt = Math.max(this.#playAt, audio.currentTime + jitterSeconds);
    source.start(this.#playAt);
    this.#playAt += buffer.duration;
  }

  get #isConnecting(): boolean {
    return this.#state.kind === 'connecting';
  }

  #talk(): void {
    if (this.#state.kind !== 'talking') this.#talkSinceMs = Date.now();
    this.#setState({ kind: 'talking', sinceMs: this.#talkSinceMs, level: 0 });
  }

  #listen(): void {
    this.#setState({ kind: 'listening', untilMs: Date.now() + listenMs });
    this.#listenTimer = setTimeout(() => this.close(), listenMs);
  }

  #fail(reason: TalkFailure, message: string): void {
    this.#disconnect();
    this.#setState({ kind: 'failed', reason, message });
  }

  /** Releases the connection, the microphone and the speaker. */
  #disconnect(): void {
    this.#isPressed = false;
    clearTimeout(this.#listenTimer);
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) socket.onclose = null;
    socket?.close();
    for (const track of this.#microphone?.getTracks() ?? []) track.stop();
    this.#microphone = null;
    void this.#audio?.close();
    this.#audio = null;
    this.#playAt = 0;
  }

  #setState(state: TalkState): void {
    this.#state = state;
    this.#onState(state);
  }
}

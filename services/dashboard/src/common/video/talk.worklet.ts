/** The global scope of audio worklets, which the DOM library does not declare. */
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** 20 ms at 8 kHz. */
const samplesPerMessage = 160;

/** Collects the microphone into messages of 16-bit PCM, with the loudest sample of each from 0 to 1. */
class MicrophoneProcessor extends AudioWorkletProcessor {
  #pcm = new Int16Array(samplesPerMessage);
  #length = 0;
  #level = 0;

  process([input]: readonly (readonly Float32Array[])[]): boolean {
    for (const sample of input?.[0] ?? []) {
      const limited = Math.max(-1, Math.min(1, sample));
      this.#pcm[this.#length] = limited * 32_767;
      this.#level = Math.max(this.#level, Math.abs(limited));
      this.#length += 1;
      if (this.#length === samplesPerMessage) this.#send();
    }
    return true;
  }

  #send(): void {
    const pcm = this.#pcm.buffer;
    this.port.postMessage({ pcm, level: this.#level }, [pcm]);
    this.#pcm = new Int16Array(samplesPerMessage);
    this.#length = 0;
    this.#level = 0;
  }
}

registerProcessor('microphone', MicrophoneProcessor);

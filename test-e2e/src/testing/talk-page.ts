import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A page that talks as docs/video.md describes it: the microphone becomes 16-bit PCM of 8 kHz, and received PCM is
 * played. `window.state` records what happens.
 */
const page = (talkUrl: string): string => `<!doctype html>
<title>talk</title>
<script>
  window.state = { errors: [], sentMessages: 0, receivedSamples: 0, loudestSample: 0, closeCode: null };
  const samplesPerMessage = 160;
  const worklet = URL.createObjectURL(new Blob([\`
    registerProcessor('microphone', class extends AudioWorkletProcessor {
      process([input]) {
        if (input[0]) this.port.postMessage(input[0].slice());
        return true;
      }
    });\`], { type: 'text/javascript' }));

  async function talk() {
    // The context converts the microphone to the rate of talk.
    const context = new AudioContext({ sampleRate: 8000 });
    await context.audioWorklet.addModule(worklet);
    const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, channelCount: 1 } });
    const socket = new WebSocket(${JSON.stringify(talkUrl)});
    socket.binaryType = 'arraybuffer';
    socket.onclose = ({ code }) => { window.state.closeCode = code; };
    const microphone = new AudioWorkletNode(context, 'microphone', { numberOfOutputs: 0 });
    context.createMediaStreamSource(stream).connect(microphone);
    let pending = [];
    microphone.port.onmessage = ({ data }) => {
      pending.push(...data);
      while (pending.length >= samplesPerMessage) {
        const pcm = Int16Array.from(pending.splice(0, samplesPerMessage), (sample) => Math.max(-1, Math.min(1, sample)) * 32767);
        if (socket.readyState === WebSocket.OPEN) {
          socket.send(pcm);
          window.state.sentMessages += 1;
        }
      }
    };
    let playAt = 0;
    socket.onmessage = ({ data }) => {
      const pcm = new Int16Array(data);
      const buffer = context.createBuffer(1, pcm.length, 8000);
      buffer.getChannelData(0).set(Float32Array.from(pcm, (sample) => sample / 32768));
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(context.destination);
      playAt = Math.max(playAt, context.currentTime + 0.04);
      source.start(playAt);
      playAt += buffer.duration;
      window.state.receivedSamples += pcm.length;
      for (const sample of pcm) window.state.loudestSample = Math.max(window.state.loudestSample, sample);
    };
  }
  talk().catch((error) => window.state.errors.push(String(error)));
</script>`;

/** Serves the page on loopback, where pages may use the microphone. */
export async function serveTalkPage(talkUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(page(talkUrl));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

import type { CustomLayerInterface, Map as MapLibreMap } from 'maplibre-gl';
import { vehicleStates } from '../live/protocol.ts';
import type { ThemeColors } from '../theme/tokens.ts';
import { stateTokens } from '../ui/marks.tsx';
import { createMarkAtlas } from './mark-atlas.ts';
import type { MarkBuffer, MarkWindow } from './mark-buffer.ts';
import { getWorldPx } from './mark-finder.ts';
import { markFloats } from './mark-layout.ts';
import { toMercatorX, toMercatorY } from './mercator.ts';
import { fragmentShader, vertexShader } from './vehicle-shaders.ts';

const floatBytes = 4;
/** Marks are smaller. */
const maxMarkPx = 80;
/** Name, number of floats and offset of each attribute of a mark. */
const attributes = [
  ['fromPosition', 2, 0],
  ['toPosition', 2, 2],
  ['motion', 3, 4],
  ['kindLookSize', 3, 7],
  ['ring', 4, 10],
] as const;
const corners = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);

/** Objects of one WebGL context; a lost context loses all of them. */
interface Resources {
  readonly gl: WebGL2RenderingContext;
  readonly program: WebGLProgram;
  readonly vertexArray: WebGLVertexArrayObject;
  readonly marks: WebGLBuffer;
  readonly atlas: WebGLTexture;
  readonly findUniform: (name: string) => WebGLUniformLocation | null;
}

/** Draws all vehicles and clusters as instances of one square; the shader moves and paints them. */
export class VehicleLayer implements CustomLayerInterface {
  readonly id = 'vehicles';
  readonly type = 'custom';
  readonly renderingMode = '2d';
  /** Seconds in which a vehicle glides to its new position. */
  glideS = 1;
  /** Marks are pale while their data is old. */
  opacity = 1;
  readonly #buffer: MarkBuffer;
  readonly #colors: ThemeColors;
  #map: MapLibreMap | null = null;
  #resources: Resources | null = null;

  constructor(buffer: MarkBuffer, colors: ThemeColors) {
    this.#buffer = buffer;
    this.#colors = colors;
  }

  onAdd(map: MapLibreMap): void {
    this.#map = map;
  }

  onRemove(): void {
    this.#map = null;
    this.#resources = null;
  }

  render(gl: WebGLRenderingContext | WebGL2RenderingContext): void {
    const map = this.#map;
    if (map === null || !(gl instanceof WebGL2RenderingContext) || gl.isContextLost()) return;
    const resources = this.#findResources(gl);
    gl.useProgram(resources.program);
    gl.bindVertexArray(resources.vertexArray);
    // The few marks on the screen are found and uploaded faster than the vertices of all marks are computed.
    const visible = this.#buffer.readVisible(this.#findWindow(map));
    gl.bindBuffer(gl.ARRAY_BUFFER, resources.marks);
    gl.bufferData(gl.ARRAY_BUFFER, visible, gl.DYNAMIC_DRAW);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, resources.atlas);
    this.#setFrame(map, resources);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, visible.length / markFloats);
    gl.bindVertexArray(null);
  }

  /** Returns the objects of the context; creates them for a new or a restored one. */
  #findResources(gl: WebGL2RenderingContext): Resources {
    const known = this.#resources;
    if (known !== null && known.gl === gl && gl.isProgram(known.program)) return known;
    this.#resources = createResources(gl, this.#colors);
    return this.#resources;
  }

  /** Returns the part of the world on the screen, with the size of a mark around it. */
  #findWindow(map: MapLibreMap): MarkWindow {
    const { lng, lat } = map.getCenter();
    const [originX, originY] = this.#buffer.origin;
    const { clientWidth, clientHeight } = map.getCanvas();
    const worldPx = getWorldPx(map);
    return {
      centerX: toMercatorX(lng) - originX,
      centerY: toMercatorY(lat) - originY,
      halfWidth: (clientWidth / 2 + maxMarkPx) / worldPx,
      halfHeight: (clientHeight / 2 + maxMarkPx) / worldPx,
    };
  }

  #setFrame(map: MapLibreMap, { gl, findUniform }: Resources): void {
    const { lng, lat } = map.getCenter();
    const [originX, originY] = this.#buffer.origin;
    const { clientWidth, clientHeight } = map.getCanvas();
    gl.uniform2f(findUniform('offset'), originX - toMercatorX(lng), originY - toMercatorY(lat));
    gl.uniform1f(findUniform('worldPx'), getWorldPx(map));
    gl.uniform2f(findUniform('viewportPx'), clientWidth, clientHeight);
    gl.uniform1f(findUniform('time'), getFrameTimeS());
    gl.uniform1f(findUniform('glideSeconds'), this.glideS);
    gl.uniform1f(findUniform('opacity'), this.opacity);
    gl.uniform1f(findUniform('pixelRatio'), map.getPixelRatio());
  }
}

/** Returns the time for motions, in seconds since the page was opened: 32 bits are enough for it. */
export const getFrameTimeS = (): number => performance.now() / 1_000;

function createResources(gl: WebGL2RenderingContext, colors: ThemeColors): Resources {
  const program = createProgram(gl);
  const vertexArray = gl.createVertexArray();
  gl.bindVertexArray(vertexArray);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
  const corner = gl.getAttribLocation(program, 'corner');
  gl.enableVertexAttribArray(corner);
  gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
  const marks = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, marks);
  for (const [name, count, offset] of attributes) {
    const location = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, count, gl.FLOAT, false, markFloats * floatBytes, offset * floatBytes);
    gl.vertexAttribDivisor(location, 1);
  }
  const locations = new Map<string, WebGLUniformLocation | null>();
  const findUniform = (name: string): WebGLUniformLocation | null => {
    if (!locations.has(name)) locations.set(name, gl.getUniformLocation(program, name));
    return locations.get(name) ?? null;
  };
  gl.useProgram(program);
  const atlas = uploadAtlas(gl);
  gl.uniform1i(findUniform('atlas'), 0);
  gl.uniform3fv(
    findUniform('stateColors'),
    vehicleStates.flatMap((state) => toRgb(colors[stateTokens[state]])),
  );
  gl.uniform3fv(findUniform('surfaceColor'), toRgb(colors.surface));
  gl.uniform3fv(findUniform('alarmColor'), toRgb(colors.critical));
  gl.uniform3fv(findUniform('actionColor'), toRgb(colors.moving));
  return { gl, program, vertexArray, marks, atlas, findUniform };
}

function createProgram(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertexShader],
    [gl.FRAGMENT_SHADER, fragmentShader],
  ] as const) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error('WebGL could not create a shader.');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) === false && !gl.isContextLost())
    throw new Error(`WebGL could not link the layer of vehicles: ${gl.getProgramInfoLog(program) ?? ''}`);
  return program;
}

function uploadAtlas(gl: WebGL2RenderingContext): WebGLTexture {
  const { data, width, height } = createMarkAtlas();
  const texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, width, height, 0, gl.RED, gl.UNSIGNED_BYTE, data);
  for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
  for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  return texture;
}

/** Returns a colour such as `#0A5BB5` as three numbers from 0 to 1. */
const toRgb = (color: string): number[] =>
  [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16) / 255);

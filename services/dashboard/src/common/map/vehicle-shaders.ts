import { vehicleStates } from '../live/protocol.ts';
import { cellSize, fieldRange, look } from './mark-layout.ts';

export const vertexShader = `#version 300 es
precision highp float;
in vec2 corner;
in vec2 fromPosition;
in vec2 toPosition;
in vec3 motion; // start time, course before, course now
in vec3 kindLookSize;
in vec4 ring;
uniform vec2 offset; // origin of the positions minus the centre of the map
uniform float worldPx;
uniform vec2 viewportPx;
uniform float time;
uniform float glideSeconds;
out vec2 px;
out float course;
out float size;
flat out int kind;
flat out int look;
flat out vec4 parts;
void main() {
  kind = int(kindLookSize.x);
  look = int(kindLookSize.y);
  size = kindLookSize.z;
  parts = ring;
  float t = glideSeconds <= 0.0 ? 1.0 : clamp((time - motion.x) / glideSeconds, 0.0, 1.0);
  float turn = mod(motion.z - motion.y + 540.0, 360.0) - 180.0;
  course = radians(motion.y + turn * t);
  vec2 position = mix(fromPosition, toPosition, t) + offset;
  position.x -= floor(position.x + 0.5); // the nearest copy of the world
  float halfPx = size * 0.5 + 6.0;
  px = corner * halfPx;
  vec2 screen = position * worldPx + px;
  gl_Position = kindLookSize.x < 0.0
    ? vec4(2.0, 2.0, 2.0, 1.0)
    : vec4(screen * 2.0 / viewportPx * vec2(1.0, -1.0), 0.0, 1.0);
}`;

export const fragmentShader = `#version 300 es
precision highp float;
in vec2 px;
in float course;
in float size;
flat in int kind;
flat in int look;
flat in vec4 parts;
uniform sampler2D atlas;
uniform vec3 stateColors[${vehicleStates.length}];
uniform vec3 surfaceColor;
uniform vec3 alarmColor;
uniform vec3 actionColor;
uniform float opacity;
uniform float pixelRatio;
out vec4 color;

vec4 over(vec4 top, vec4 bottom) {
  return top + bottom * (1.0 - top.a);
}
vec4 paint(vec3 rgb, float alpha) {
  return vec4(rgb * alpha, alpha);
}
/** The part of a pixel inside an edge at this distance. */
float cover(float distancePx) {
  return clamp(distancePx * pixelRatio + 0.5, 0.0, 1.0);
}
float ringCover(float radius, float width) {
  return cover(width * 0.5 - abs(length(px) - radius));
}
vec4 badge(vec2 at) {
  vec2 p = px - at;
  float disc = cover(6.0 - length(p));
  float bar = cover(min(1.0 - abs(p.x), 2.2 - abs(p.y + 1.2)));
  float dot_ = cover(1.1 - length(p - vec2(0.0, 3.2)));
  return over(paint(surfaceColor, max(bar, dot_)), paint(alarmColor, disc));
}
vec3 ringColor(float part) {
  if (part < parts.x) return stateColors[0];
  if (part < parts.x + parts.y) return stateColors[1];
  if (part < parts.x + parts.y + parts.z) return stateColors[2];
  return stateColors[3];
}
vec4 clusterMark() {
  float radius = size * 0.5 - 2.0;
  float part = atan(px.x, -px.y) / 6.2831853;
  vec4 disc = paint(surfaceColor, cover(radius + 2.5 - length(px)));
  vec4 mark = over(paint(ringColor(part < 0.0 ? part + 1.0 : part), ringCover(radius, 4.0)), disc);
  return (look & ${look.alarm}) != 0 ? over(badge(vec2(radius * 0.72, -radius * 0.72)), mark) : mark;
}
vec4 vehicleMark() {
  vec2 p = px;
  if (kind == 0) p = mat2(cos(course), -sin(course), sin(course), cos(course)) * px;
  float scale = ${(cellSize * 0.75).toFixed(1)} / 22.0; // pixels of the atlas for each pixel of the screen
  vec2 cell = p * scale / ${cellSize.toFixed(1)} + 0.5;
  vec4 mark = vec4(0.0);
  if (all(greaterThan(cell, vec2(0.0))) && all(lessThan(cell, vec2(1.0)))) {
    float value = texture(atlas, vec2((cell.x + float(kind)) / ${vehicleStates.length.toFixed(1)}, cell.y)).r;
    float distancePx = (value * 255.0 - 128.0) / 127.0 * ${fieldRange.toFixed(1)} / scale;
    mark = over(paint(stateColors[kind], cover(distancePx)), paint(surfaceColor, cover(distancePx + 1.8)));
  }
  if ((look & ${look.unsure}) != 0) {
    float dashes = step(0.5, fract(atan(p.y, p.x) * 8.0 / 6.2831853));
    mark = over(paint(stateColors[kind], ringCover(13.0, 1.6) * dashes), mark);
  }
  if ((look & ${look.alarm}) != 0) {
    mark = over(paint(alarmColor, ringCover(14.5, 2.4)), mark);
    mark = over(badge(vec2(11.0, -11.0)), mark);
  }
  if ((look & ${look.selected}) != 0) {
    mark = over(paint(actionColor, max(ringCover(18.0, 2.0), ringCover(21.5, 1.5))), mark);
  }
  if ((look & ${look.followed}) != 0) {
    vec2 c = px - vec2(0.0, -25.0);
    float chevron = cover(1.2 - abs(abs(c.x) * 0.8 + c.y - 1.0)) * step(abs(c.x), 5.0);
    mark = over(paint(actionColor, chevron), mark);
  }
  return mark;
}
void main() {
  color = (kind == ${vehicleStates.length} ? clusterMark() : vehicleMark()) * opacity;
}`;

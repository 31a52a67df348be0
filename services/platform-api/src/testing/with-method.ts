/** Something real, such as a collection, of which one method does something else. */
export const withMethod = <T extends object>(real: T, name: keyof T, method: (...given: never[]) => unknown): T =>
  new Proxy(real, {
    get: (target, field) => {
      if (field === name) return method;
      const value: unknown = Reflect.get(target, field);
      return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value;
    },
  });

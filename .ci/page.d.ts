// The globals that static/js uses: the parts of htmx and idiomorph, and the events of the page.

interface HtmxRequestConfig {
  elt: HTMLElement;
  parameters: Record<string, string>;
  triggeringEvent?: Event;
}

interface HtmxDetail {
  elt: HTMLElement;
  target: HTMLElement;
  xhr: XMLHttpRequest;
  requestConfig: HtmxRequestConfig;
  successful?: boolean;
}

interface SwapDetail extends HtmxDetail {
  shouldSwap: boolean;
}

/** An element's class; without one, the helpers of dom.js return an HTMLElement. */
type ElementType<T extends Element> = new () => T;
type Find = <T extends Element = HTMLElement>(selector: string, root?: ParentNode, type?: ElementType<T>) => T | null;
type FindRequired = <T extends Element = HTMLElement>(selector: string, root?: ParentNode, type?: ElementType<T>) => T;
type FindAll = <T extends Element = HTMLElement>(selector: string, root?: ParentNode, type?: ElementType<T>) => T[];
type FindClosest = <T extends Element = HTMLElement>(
  node: EventTarget | null,
  selector: string,
  type?: ElementType<T>,
) => T | null;
type AsInstance = <T extends Element = HTMLElement>(element: Element | null, type?: ElementType<T>) => T | null;

/**
 * A frame that the server sends through the socket, see chat/consumers.py. Frames other than `snapshot`, `place`,
 * `blocks` and `done` only say what to fetch again.
 */
type Frame =
  | { type: "snapshot"; reply: string; seq: number; blocks: string[]; before?: number }
  | { type: "place"; reply: string; before: number }
  | { type: "blocks"; reply: string; seq: number; from: number; keep: number; html: string[] }
  | { type: "done"; reply: string }
  | { type: "messages"; conversation: string }
  | { type: "message"; id: string }
  | { type: "facts"; messages?: string[] }
  | { type: "model" | "chat" | "conversations" | "pong" };

/** A toast with `id` belongs to a deletion: `undo` is the address that brings it back, within `seconds`. */
interface ToastDetail {
  text: string;
  undo?: string;
  id?: string;
  seconds?: number;
  all?: boolean;
}

/** An event of htmx, or one that a response names in its HX-Trigger header. */
interface PageEvent<Detail> extends CustomEvent<Detail> {
  readonly target: HTMLElement;
}

interface PageEventDetails {
  "htmx:afterRequest": HtmxDetail;
  "htmx:afterSettle": HtmxDetail;
  "htmx:afterSwap": HtmxDetail;
  "htmx:beforeOnLoad": HtmxDetail;
  "htmx:beforeRequest": HtmxDetail;
  "htmx:beforeSwap": SwapDetail;
  "htmx:responseError": HtmxDetail;
  "htmx:sendError": HtmxDetail;
  command: { name: string };
  forgot: ToastDetail;
  theme: { value: string };
  toast: ToastDetail;
}

declare const htmx: {
  ajax(
    method: "GET" | "POST",
    url: string,
    context: { source?: Element | string; target?: Element | string; swap?: string },
  ): Promise<void>;
  defineExtension(
    name: string,
    extension: {
      isInlineSwap(style: string): boolean;
      handleSwap(style: string, target: HTMLElement, fragment: DocumentFragment): Node[] | boolean;
    },
  ): void;
  on<Name extends keyof PageEventDetails>(
    name: Name,
    listener: (event: PageEvent<PageEventDetails[Name]>) => void,
  ): void;
  process(element: Element): void;
};

declare const Idiomorph: {
  morph(
    target: Element,
    content: string | HTMLCollection,
    options: {
      morphStyle: "outerHTML" | "innerHTML";
      callbacks: {
        beforeNodeMorphed(old: Node, now: Node): boolean;
        beforeNodeRemoved(old: Node): boolean;
        beforeAttributeUpdated(name: string, old: Element): boolean;
      };
    },
  ): Node[];
};

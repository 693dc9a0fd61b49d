// The page is drawn several times a second; most of its views show something else less often.
import { Component, type ComponentClass, type VNode } from 'preact'
import { html } from './html.ts'

/** Drawn anew only if one of its properties is another, or if something in it asks for that. */
export function pure<Props extends object>(View: (props: Props) => VNode): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = Object.keys(next) as (keyof Props)[]
      return names.some((name) => next[name] !== this.props[name])
    }

    override render(): VNode {
      return html`<${View} ...${this.props} />`
    }
  }
}

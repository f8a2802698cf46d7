// The npm package aimock with an answer for each of its APIs that is asked here.
import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ port: 0, chunkSize: 6, latency: 2 });
server.onImage(/.*/s, { image: { b64Json: "iVBORw0KGgo=" } });
server.onVideo(/.*/s, { video: { id: "v1", status: "completed", url: "http://127.0.0.1:1/none.mp4" } });
server.onEmbedding(/.*/s, { embedding: [0.1, 0.2, 0.3, 0.4] });
server.onRerank(/.*/s, [{ index: 0, relevance_score: 0.9 }, { index: 1, relevance_score: 0.2 }]);
server.onMessage(/.*/s, { content: "The quick brown fox jumps over the lazy dog." });
await server.start();
console.log("Listening on " + server.url);
